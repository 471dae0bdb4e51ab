import type {Rule} from '#src/check/findings/rules.js';

/** One thing that happens to several stored objects. */
export interface Folded {
  readonly rule: Rule;
  /** The path of the field; indices are `[*]`. */
  readonly path: string;
  /** What happens to the first of them. */
  readonly text: string;
  count: number;
  /** The first of the objects. */
  readonly names: string[];
}

/** The most different things that are told apart; the most objects that each names. */
const mostFolded = 200;
const mostNames = 5;

/** Counts what happens to stored objects, whatever their number. */
export class FoldedFindings {
  readonly #byKey = new Map<string, Folded>(); // At most `mostFolded`.
  /** What was not told apart any more. */
  more = 0;

  add(rule: Rule, path: string, text: string, name: string): void {
    const general = withoutIndices(path);
    const key = `${rule} ${general} ${text.split(':', 1)[0]}`;
    const known = this.#byKey.get(key);
    if (known) {
      if (known.names.at(-1) === name) return; // Another item of the same list.
      known.count++;
      if (known.names.length < mostNames) known.names.push(name);
    } else if (this.#byKey.size >= mostFolded) this.more++;
    else this.#byKey.set(key, {rule, path: general, text, count: 1, names: [name]});
  }

  get all(): readonly Folded[] {
    return [...this.#byKey.values()];
  }
}

/** The path with `[*]` for each index and key. */
const withoutIndices = (path: string): string => {
  let text = '';
  for (let at = 0; at < path.length; at++) {
    if (path[at] !== '[') {
      text += path[at];
      continue;
    }
    const end = path.indexOf(']', at);
    text += '[*]';
    if (end === -1) return text;
    at = end;
  }
  return text;
};

/** `default/a, default/b and 3 more`. */
export const namesText = ({names, count}: Pick<Folded, 'names' | 'count'>): string =>
  count > names.length ? `${names.join(', ')} and ${count - names.length} more` : names.join(', ');
