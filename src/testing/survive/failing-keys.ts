import {keyText, type ObjectKey} from '#src/api/key.js';
import {messageOf} from '#src/base/message.js';

/** The most keys that are named. */
const mostNamed = 3;

/** The keys whose last reconcile failed. */
export class FailingKeys {
  readonly #failures = new Map<string, {readonly times: number; readonly message: string}>();

  failed(controller: string, key: ObjectKey, error: unknown): void {
    const of = nameOf(controller, key);
    this.#failures.set(of, {times: (this.#failures.get(of)?.times ?? 0) + 1, message: messageOf(error)});
  }

  succeeded(controller: string, key: ObjectKey): void {
    this.#failures.delete(nameOf(controller, key));
  }

  /** Returns the keys that fail, with the last error of each; undefined if none does. */
  inWords(): string | undefined {
    if (this.#failures.size === 0) return undefined;
    const named = [...this.#failures]
      .slice(0, mostNamed)
      .map(([key, {times, message}]) => `${key} (failed ${times} times, at last: ${message})`);
    const others = this.#failures.size - named.length;
    return `keys still failing at the end: ${named.join('; ')}${others > 0 ? `; and ${others} more` : ''}`;
  }
}

const nameOf = (controller: string, key: ObjectKey): string => `${controller} ${keyText(key)}`;
