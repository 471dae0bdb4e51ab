import {demandedLabels} from '#controllers/shared/children/selected.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';

/** A selector, and the keys of the autoscalers that use it. */
interface Entry {
  readonly selector: LabelSelector;
  readonly keys: Set<string>;
  /** The labels it is indexed under. */
  readonly labelKeys: readonly string[];
}

const anyLabels = '';
const labelKey = (label: string, value: string): string => `${label}=${value}`;

/**
 * The selectors of the autoscalers of one namespace: each is indexed under one label that it requires, the one with the
 * fewest selectors.
 */
export class SelectorIndex {
  /** Undefined for an autoscaler that was not synced yet. */
  readonly #entries = new Map<string, Entry | undefined>();
  readonly #byText = new Map<string, Entry>();
  readonly #byLabel = new Map<string, Set<Entry>>();

  get size(): number {
    return this.#entries.size;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** Adds an autoscaler without a selector yet. */
  known(key: string): void {
    if (!this.#entries.has(key)) this.#entries.set(key, undefined);
  }

  /** Sets the selector of an autoscaler. */
  set(key: string, selector: LabelSelector): void {
    const text = selector.toString();
    const before = this.#entries.get(key);
    if (before && before === this.#byText.get(text)) return;
    this.forget(key);
    const entry = this.#byText.get(text) ?? this.#file(text, selector);
    entry.keys.add(key);
    this.#entries.set(key, entry);
  }

  forget(key: string): void {
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    if (!entry?.keys.delete(key) || entry.keys.size > 0) return;
    this.#byText.delete(entry.selector.toString());
    for (const each of entry.labelKeys) {
      const entries = this.#byLabel.get(each);
      if (entries?.delete(entry) && entries.size === 0) this.#byLabel.delete(each);
    }
  }

  /** Returns the autoscalers whose selectors match any of the pods. Pods with equal labels are checked once. */
  of(pods: readonly Frozen<Pod>[]): string[] {
    const alike = new Map(pods.map(({metadata}) => [JSON.stringify(metadata?.labels ?? {}), metadata?.labels ?? {}]));
    const found = new Set<Entry>();
    for (const labels of alike.values()) {
      for (const each of [anyLabels, ...Object.entries(labels).map(([label, value]) => labelKey(label, value))]) {
        for (const entry of this.#byLabel.get(each) ?? []) if (!found.has(entry) && entry.selector.matches(labels)) found.add(entry);
      }
    }
    return [...found].flatMap(({keys}) => [...keys]);
  }

  #file(text: string, selector: LabelSelector): Entry {
    const choices = demandedLabels(selector).map(({key, values}) => values.map(value => labelKey(key, value)));
    const fullness = (labelKeys: readonly string[]): number =>
      labelKeys.reduce((sum, each) => sum + (this.#byLabel.get(each)?.size ?? 0), 0);
    const labelKeys = choices.length === 0 ? [anyLabels] : choices.reduce((best, each) => (fullness(each) < fullness(best) ? each : best));
    const entry: Entry = {selector, keys: new Set(), labelKeys};
    this.#byText.set(text, entry);
    for (const each of labelKeys) {
      const entries = this.#byLabel.get(each);
      if (entries) entries.add(entry);
      else this.#byLabel.set(each, new Set([entry]));
    }
    return entry;
  }
}
