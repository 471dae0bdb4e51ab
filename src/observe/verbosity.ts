import {globbed} from '#src/base/text/glob.js';

/** One `pattern=N` of `--vmodule`. */
interface ModuleLevel {
  readonly matches: RegExp;
  readonly level: number;
}

/** Returns the entries of a `--vmodule` value, or the text of an error. */
const parseVmodule = (text: string): readonly ModuleLevel[] | string => {
  const levels: ModuleLevel[] = [];
  for (const entry of text.split(',').filter(Boolean)) {
    const match = /^([^=]+)=(\d+)$/.exec(entry.trim());
    if (!match) return `"${entry}" is not of the form pattern=N`;
    levels.push({matches: globbed(match[1]!), level: Number(match[2])});
  }
  return levels;
};

/** The verbosity, in general and by source. May be changed while the program runs. */
export class Verbosity {
  level: number;
  #modules: readonly ModuleLevel[];

  /** Throws on a malformed `vmodule`. */
  constructor(level = 0, vmodule = '') {
    const modules = parseVmodule(vmodule);
    if (typeof modules === 'string') throw new Error(modules);
    this.level = level;
    this.#modules = modules;
  }

  /**
   * Returns whether lines of a level are logged for `source`: the first matching pattern decides, else the general
   * level.
   */
  reaches(level: number, source: string): boolean {
    const module = this.#modules.find(({matches}) => matches.test(source));
    return level <= (module?.level ?? this.level);
  }
}
