import {selectedPods} from '#controllers/shared/children/selected.js';
import type {Lister} from '#informers/lister.js';
import {keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {parseLabelSelector, type LabelSelector} from '#src/api/selectors/label-selector.js';
import {messageOf} from '#src/base/message.js';
import {SelectorIndex} from './selector-index.js';

/** Why the pods of an autoscaler cannot be selected. */
export class SelectionError extends Error {
  override readonly name = 'NoSelection';
  /** The reasons of the event and of the condition. */
  readonly reasons: readonly [event: string, condition: string];
  /** The message of the condition, where it differs from the event's. */
  readonly conditionMessage: string;

  constructor(reasons: SelectionError['reasons'], message: string, conditionMessage = message) {
    super(message);
    this.reasons = reasons;
    this.conditionMessage = conditionMessage;
  }
}

export interface Selection {
  readonly selector: LabelSelector;
  readonly pods: readonly Frozen<Pod>[];
}

/** Selects the pods of targets, and keeps all selectors: pods selected by several autoscalers are not scaled. */
export class Selections {
  readonly #pods: Lister<Pod>;
  /** By namespace. */
  readonly #selectors = new Map<string, SelectorIndex>();

  constructor(pods: Lister<Pod>) {
    this.#pods = pods;
  }

  get size(): number {
    let size = 0;
    for (const sharing of this.#selectors.values()) size += sharing.size;
    return size;
  }

  known(key: ObjectKey): void {
    const sharing = this.#selectors.get(key.namespace) ?? new SelectorIndex();
    this.#selectors.set(key.namespace, sharing);
    sharing.known(keyText(key));
  }

  forget(key: ObjectKey): void {
    const sharing = this.#selectors.get(key.namespace);
    sharing?.forget(keyText(key));
    if (sharing?.size === 0) this.#selectors.delete(key.namespace);
  }

  /** Returns the pods of a scale's selector. Throws a `SelectionError`. */
  select(key: ObjectKey, text: string): Selection {
    if (text === '')
      throw new SelectionError(
        ['SelectorRequired', 'InvalidSelector'],
        'selector is required',
        "the HPA target's scale is missing a selector",
      );
    const selector = read(text);
    const others = this.#selectors.get(key.namespace);
    if (others?.has(keyText(key))) others.set(keyText(key), selector);
    const pods = selectedPods(this.#pods, key.namespace, selector);
    const sharing = others?.of(pods) ?? [];
    if (sharing.length > 1) {
      throw new SelectionError(
        ['AmbiguousSelector', 'AmbiguousSelector'],
        `pods by selector ${text} are controlled by multiple HPAs: [${sharing.sort().join(' ')}]`,
      );
    }
    return {selector, pods};
  }
}

const read = (text: string): LabelSelector => {
  try {
    return parseLabelSelector(text);
  } catch (error) {
    throw new SelectionError(
      ['InvalidSelector', 'InvalidSelector'],
      `couldn't convert selector into a corresponding internal selector object: ${messageOf(error)}`,
    );
  }
};
