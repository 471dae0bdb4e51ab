import type {Lister} from '#informers/lister.js';
import {keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {nothing, parseLabelSelector, type LabelSelector} from '#src/api/selectors/label-selector.js';
import {messageOf} from '#src/base/message.js';

/** Why an autoscaler cannot tell whose pods are meant. */
export class NoSelection extends Error {
  override readonly name = 'NoSelection';
  /** The reason of the event, and of the condition. */
  readonly reasons: readonly [event: string, condition: string];
  /** The text of the condition, where it is not the event's. */
  readonly told: string;

  constructor(reasons: NoSelection['reasons'], message: string, told = message) {
    super(message);
    this.reasons = reasons;
    this.told = told;
  }
}

export interface Selection {
  readonly selector: LabelSelector;
  readonly pods: readonly Frozen<Pod>[];
}

/** Finds the pods of targets, and remembers by which selectors, since pods that several autoscalers select are scaled by none. */
export class Selections {
  readonly #pods: Lister<Pod>;
  /** By namespace and key. An autoscaler that was not looked at yet selects nothing. */
  readonly #selectors = new Map<string, Map<string, LabelSelector>>();

  constructor(pods: Lister<Pod>) {
    this.#pods = pods;
  }

  get size(): number {
    let size = 0;
    for (const keys of this.#selectors.values()) size += keys.size;
    return size;
  }

  known(key: ObjectKey): void {
    const keys = this.#selectors.get(key.namespace) ?? new Map<string, LabelSelector>();
    this.#selectors.set(key.namespace, keys);
    if (!keys.has(keyText(key))) keys.set(keyText(key), nothing);
  }

  forget(key: ObjectKey): void {
    const keys = this.#selectors.get(key.namespace);
    keys?.delete(keyText(key));
    if (keys?.size === 0) this.#selectors.delete(key.namespace);
  }

  /** The pods of a scale's selector. Throws a `NoSelection`. */
  select(key: ObjectKey, text: string): Selection {
    if (text === '') throw new NoSelection(['SelectorRequired', 'InvalidSelector'], 'selector is required', "the HPA target's scale is missing a selector");
    const selector = read(text);
    const others = this.#selectors.get(key.namespace) ?? new Map<string, LabelSelector>();
    if (others.has(keyText(key))) others.set(keyText(key), selector);
    const pods = this.#pods.list(key.namespace).filter(({metadata}) => selector.matches(metadata?.labels));
    const sharing = owners(others, pods);
    if (sharing.length > 1) {
      throw new NoSelection(['AmbiguousSelector', 'AmbiguousSelector'], `pods by selector ${text} are controlled by multiple HPAs: [${sharing.sort().join(' ')}]`);
    }
    return {selector, pods};
  }
}

const read = (text: string): LabelSelector => {
  try {
    return parseLabelSelector(text);
  } catch (error) {
    throw new NoSelection(['InvalidSelector', 'InvalidSelector'], `couldn't convert selector into a corresponding internal selector object: ${messageOf(error)}`);
  }
};

/** The keys whose selectors match any of the pods; pods that are labelled alike are looked at once. */
const owners = (selectors: ReadonlyMap<string, LabelSelector>, pods: readonly Frozen<Pod>[]): string[] => {
  const labels = new Map(pods.map(({metadata}) => [JSON.stringify(metadata?.labels ?? {}), metadata?.labels]));
  return [...selectors].filter(([, selector]) => [...labels.values()].some(each => selector.matches(each))).map(([key]) => key);
};
