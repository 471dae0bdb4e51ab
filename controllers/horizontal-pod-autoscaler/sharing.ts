import {demandedLabels} from '#controllers/shared/selected.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';

/** A selector, and the keys of the autoscalers whose targets have it. */
interface Entry {
  readonly selector: LabelSelector;
  readonly keys: Set<string>;
  /** Under which labels it is filed. */
  readonly shelves: readonly string[];
}

const anyLabels = '';
const shelf = (label: string, value: string): string => `${label}=${value}`;

/** The selectors of the autoscalers of one namespace: each is filed under one label that it demands, the one that fewest others are filed under. */
export class Sharing {
  /** An autoscaler that was not looked at yet has none. */
  readonly #entries = new Map<string, Entry | undefined>();
  readonly #byText = new Map<string, Entry>();
  readonly #shelves = new Map<string, Set<Entry>>();

  get size(): number {
    return this.#entries.size;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** Notes an autoscaler that is to be looked at. */
  known(key: string): void {
    if (!this.#entries.has(key)) this.#entries.set(key, undefined);
  }

  /** Notes the selector of an autoscaler. */
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
    for (const each of entry.shelves) {
      const entries = this.#shelves.get(each);
      if (entries?.delete(entry) && entries.size === 0) this.#shelves.delete(each);
    }
  }

  /** The autoscalers whose selectors match any of the pods. Pods that are labelled alike are looked at once. */
  of(pods: readonly Frozen<Pod>[]): string[] {
    const alike = new Map(pods.map(({metadata}) => [JSON.stringify(metadata?.labels ?? {}), metadata?.labels ?? {}]));
    const found = new Set<Entry>();
    for (const labels of alike.values()) {
      for (const each of [anyLabels, ...Object.entries(labels).map(([label, value]) => shelf(label, value))]) {
        for (const entry of this.#shelves.get(each) ?? []) if (!found.has(entry) && entry.selector.matches(labels)) found.add(entry);
      }
    }
    return [...found].flatMap(({keys}) => [...keys]);
  }

  #file(text: string, selector: LabelSelector): Entry {
    const choices = demandedLabels(selector).map(({key, values}) => values.map(value => shelf(key, value)));
    const fullness = (shelves: readonly string[]): number => shelves.reduce((sum, each) => sum + (this.#shelves.get(each)?.size ?? 0), 0);
    const shelves = choices.length === 0 ? [anyLabels] : choices.reduce((best, each) => (fullness(each) < fullness(best) ? each : best));
    const entry: Entry = {selector, keys: new Set(), shelves};
    this.#byText.set(text, entry);
    for (const each of shelves) {
      const entries = this.#shelves.get(each);
      if (entries) entries.add(entry);
      else this.#shelves.set(each, new Set([entry]));
    }
    return entry;
  }
}
