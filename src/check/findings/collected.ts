import type {Finding} from './finding.js';
import type {Level} from './rules.js';

/** The most findings that are kept; the others are counted. */
const mostKept = 1000;

/** The findings of a check, each once: the first of them, and how many there are by level. */
export class CollectedFindings {
  readonly #kept: Finding[] = [];
  readonly #seen = new Set<string>(); // Of those that are kept.
  readonly counts: Record<Level, number> = {error: 0, warning: 0, note: 0};

  add(findings: Iterable<Finding>): void {
    for (const finding of findings) {
      const {rule, file, line, message} = finding;
      const text = `${file}:${line} ${rule} ${message}`;
      if (this.#seen.has(text)) continue;
      this.counts[finding.level]++;
      if (this.#kept.length >= mostKept) continue;
      this.#seen.add(text);
      this.#kept.push(finding);
    }
  }

  /** The findings that are kept, by file and line. */
  get kept(): readonly Finding[] {
    return [...this.#kept].sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1));
  }

  /** How many findings are not kept. */
  get more(): number {
    return this.counts.error + this.counts.warning + this.counts.note - this.#kept.length;
  }
}
