/** One `pattern=N` of `--vmodule`. */
interface ModuleLevel {
  readonly matches: RegExp;
  readonly level: number;
}

const globbed = (pattern: string): RegExp =>
  new RegExp(`^${pattern.replace(/[.+^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*').replaceAll('?', '.')}$`);

/** The entries of a `--vmodule` value; a text says what is wrong with it. */
const parseVmodule = (text: string): readonly ModuleLevel[] | string => {
  const levels: ModuleLevel[] = [];
  for (const entry of text.split(',').filter(Boolean)) {
    const match = /^([^=]+)=(\d+)$/.exec(entry.trim());
    if (!match) return `"${entry}" is not of the form pattern=N`;
    levels.push({matches: globbed(match[1]!), level: Number(match[2])});
  }
  return levels;
};

/** How much detail is told, and by whom. May be changed while the program runs. */
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

  /** Whether lines of that level are told by `source`: the first pattern that matches it decides, else the general level. */
  reaches(level: number, source: string): boolean {
    const module = this.#modules.find(({matches}) => matches.test(source));
    return level <= (module?.level ?? this.level);
  }
}
