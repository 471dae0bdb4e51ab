import type {GateName} from './gate-table.js';
import type {FlagType, FlagValues} from './types.js';

/**
 * One flag, as plain data. `default` is the documents' own text, read by the flag's type; without one the value is the type's zero.
 * `shownDefault` is what help prints where the documents describe a default in words.
 */
export interface FlagRow {
  readonly type: FlagType;
  /** The type's name in help, where the documents call it otherwise than the type does. */
  readonly label?: string;
  readonly help: string;
  readonly default?: string;
  readonly shownDefault?: string;
  readonly shorthand?: string;
  readonly aliases?: readonly string[];
  /** What to do instead; using the flag makes one warning line. */
  readonly deprecated?: string;
  /** Values that still work, and what to use instead. */
  readonly deprecatedValues?: Readonly<Record<string, string>>;
  /** Set when nothing reads the flag yet: using it makes one warning line, and the reference marks it. Not for flags that promise safety: those are `refused`. */
  readonly implementation?: 'pending';
  /** Why nothing here depends on the flag: using it makes one warning line. */
  readonly withoutEffect?: string;
  /** Set when the flag cannot keep what it promises: anything but its default ends the start with this, said of the flag. */
  readonly refused?: string;
  /** Values that end the start in the same way. */
  readonly refusedValues?: Readonly<Record<string, string>>;
  readonly oneOf?: readonly string[];
  readonly range?: Range;
  /** Flags that must not be given beside this one. */
  readonly excludes?: readonly string[];
  /** Flags that must be given when this one is. */
  readonly requires?: readonly string[];
  /** The feature gate without which the flag may not be used. */
  readonly gate?: GateName;
  /** An objection to the value in a few words, or nothing. */
  readonly check?: (value: never) => string | undefined;
}

/** Limits of a number; durations are limited in their own spelling. */
export interface Range {
  readonly min?: number | string;
  readonly max?: number | string;
  readonly above?: number | string;
}

export type FlagRows = Readonly<Record<string, FlagRow>>;

export interface FlagSection<R extends FlagRows = FlagRows> {
  readonly title: string;
  readonly rows: R;
}

/** Sees all values of a parse and says what is wrong between them in one line, or nothing. */
export type Rule<O> = (options: O, given: Given) => string | undefined;

/** Replaces defaults that depend on other flags; sees the values only after every rule holds. */
export type Derive<O> = (options: O, given: Given) => Partial<O>;

/** Which flags were written on the command line with something in them. */
export interface Given {
  has(flag: string): boolean;
  readonly gates: {enabled(gate: GateName): boolean};
  readonly versions: {readonly emulated: string; readonly binary: string};
}

/** Everything one program accepts: its sections in the order of help, and the rules between flags. */
export interface FlagTable<R = FlagRows> {
  readonly program: string;
  readonly summary: string;
  /** Names the arguments that are not flags; without it there may be none. */
  readonly positional?: string;
  readonly sections: readonly FlagSection[];
  readonly rules: readonly Rule<OptionsOf<R>>[];
  /** Values that follow from others where they were not given. */
  readonly derive?: Derive<OptionsOf<R>>;
  /** Carries the rows' types; the value is the rows of all sections. */
  readonly rows: R;
}

type Camel<S extends string> = S extends `${infer Head}-${infer Rest}` ? `${Head}${Capitalize<Camel<Rest>>}` : S;

type ValueOf<R extends FlagRow> = R extends {readonly oneOf: readonly (infer One extends string)[]}
  ? R['type'] extends 'strings'
    ? readonly One[]
    : One
  : FlagValues[R['type']];

type RowsOf<T> = T extends {readonly rows: infer R} ? R : T;

/** The typed values of a section or of a program's table: camel-case names, durations in ms. */
export type OptionsOf<T> = {readonly [K in keyof RowsOf<T> & string as Camel<K>]: RowsOf<T>[K] extends FlagRow ? ValueOf<RowsOf<T>[K]> : never};

/** A group of flags under one heading of help. */
export const flagSection = <const R extends FlagRows>(title: string, rows: R): FlagSection<R> => ({title, rows});

type Joined<S extends readonly FlagSection[]> = S extends readonly [infer First, ...infer Rest extends readonly FlagSection[]]
  ? RowsOf<First> & Joined<Rest>
  : unknown;

type Flat<T> = {readonly [K in keyof T]: T[K]};

interface TableSource<S extends readonly FlagSection[]> {
  readonly program: string;
  readonly summary: string;
  readonly positional?: string;
  readonly sections: S;
  readonly rules?: readonly Rule<OptionsOf<Flat<Joined<S>>>>[];
  readonly derive?: Derive<OptionsOf<Flat<Joined<S>>>>;
}

/** Joins sections into a program's table. Two sections with one heading become one; a flag declared twice is refused. */
export const flagTable = <const S extends readonly FlagSection[]>({rules = [], derive, sections, ...source}: TableSource<S>): FlagTable<Flat<Joined<S>>> => {
  const rows: Record<string, FlagRow> = {};
  const byTitle = new Map<string, Record<string, FlagRow>>();
  for (const section of sections) {
    for (const [name, row] of Object.entries(section.rows)) {
      if (rows[name]) throw new Error(`flag --${name} is declared twice`);
      rows[name] = row;
    }
    byTitle.set(section.title, {...byTitle.get(section.title), ...section.rows});
  }
  return {
    ...source,
    ...(derive && {derive: derive as never}),
    sections: [...byTitle].map(([title, group]) => ({title, rows: group})),
    rules: rules as never,
    rows: rows as never,
  };
};

/** What is said of a flag or a value whose work is not built yet. `instead` tells what to do until it is. */
export const notSupportedYet = (instead: string): string => `is not supported yet: ${instead}`;

/** `cluster-signing-cert-file` as the name of its option: `clusterSigningCertFile`. */
export const optionName = (flag: string): string => flag.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
