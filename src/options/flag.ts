// The declaration of command-line flags as tables. A program's table is the source of its parser (parse.ts), its help
// text (help.ts), its typed options (`OptionsOf`) and the reference in docs/flags.md (reference.ts). Tables are data:
// they do not read or change anything.

import type {GateName} from './gate-table.js';
import type {FlagType, FlagValues} from './types.js';

/**
 * One flag. `default` is text, parsed by the flag's type; without it the value is the type's zero value.
 * `shownDefault` is shown in help where the default cannot be given as a value.
 */
export interface FlagRow {
  readonly type: FlagType;
  /** The type's name in help, if it differs from the type's label. */
  readonly label?: string;
  readonly help: string;
  readonly default?: string;
  readonly shownDefault?: string;
  readonly shorthand?: string;
  readonly aliases?: readonly string[];
  /** The replacement to use. Using the flag logs a warning. */
  readonly deprecated?: string;
  /** Deprecated values and their replacements. */
  readonly deprecatedValues?: Readonly<Record<string, string>>;
  /** Set while no code reads the flag: using it logs a warning, and the reference says so. */
  readonly implementation?: 'pending';
  /** Why the flag has no effect here. Using it logs a warning. */
  readonly withoutEffect?: string;
  readonly oneOf?: readonly string[];
  /** What shells complete its value with. */
  readonly completes?: Completed;
  readonly range?: Range;
  /** Flags that cannot be combined with this one. */
  readonly excludes?: readonly string[];
  /** Flags that must be given together with this one. */
  readonly requires?: readonly string[];
  /** The feature gate that must be enabled to use the flag. */
  readonly gate?: GateName;
  /** Returns an error for an invalid value. */
  readonly check?: (value: never) => string | undefined;
}

/** Names that shells complete: those of this user's planes. */
export type Completed = 'planes';

/** Limits of a number. Limits of a duration are duration texts. */
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

/** Validates the combination of all values. Returns an error in one line, or undefined. */
export type Rule<O> = (options: O, given: Given) => string | undefined;

/** Returns defaults that depend on other flags. Called after all rules have passed. */
export type Derive<O> = (options: O, given: Given) => Partial<O>;

/** The flags given on the command line with a non-empty value. */
export interface Given {
  has(flag: string): boolean;
  readonly gates: {enabled(gate: GateName): boolean};
  readonly versions: {readonly emulated: string; readonly binary: string};
}

/** The flags of one program: its sections in the order of help, and the rules between flags. */
export interface FlagTable<R = FlagRows> {
  readonly program: string;
  readonly summary: string;
  /** Whether a configuration file may turn gates on: then those that flags need are checked later, with it. */
  readonly hasConfiguration?: boolean;
  /** The usage text of positional arguments. Without it none are accepted. */
  readonly positional?: string;
  /** What shells complete positional arguments with. */
  readonly completes?: Completed;
  readonly sections: readonly FlagSection[];
  readonly rules: readonly Rule<OptionsOf<R>>[];
  /** Computes defaults that depend on other flags. */
  readonly derive?: Derive<OptionsOf<R>>;
  /** The rows of all sections; carries their types. */
  readonly rows: R;
}

type Camel<S extends string> = S extends `${infer Head}-${infer Rest}` ? `${Head}${Capitalize<Camel<Rest>>}` : S;

type ValueOf<R extends FlagRow> = R extends {readonly oneOf: readonly (infer One extends string)[]}
  ? R['type'] extends 'strings'
    ? readonly One[]
    : One
  : FlagValues[R['type']];

type RowsOf<T> = T extends {readonly rows: infer R} ? R : T;

/** The typed options of a section or a table: camel-case names, durations in ms. */
export type OptionsOf<T> = {
  readonly [K in keyof RowsOf<T> & string as Camel<K>]: RowsOf<T>[K] extends FlagRow ? ValueOf<RowsOf<T>[K]> : never;
};

/** Declares a group of flags with a heading. */
export const flagSection = <const R extends FlagRows>(title: string, rows: R): FlagSection<R> => ({title, rows});

type Joined<S extends readonly FlagSection[]> = S extends readonly [infer First, ...infer Rest extends readonly FlagSection[]]
  ? RowsOf<First> & Joined<Rest>
  : unknown;

type Flat<T> = {readonly [K in keyof T]: T[K]};

interface TableSource<S extends readonly FlagSection[]> {
  readonly program: string;
  readonly summary: string;
  readonly hasConfiguration?: boolean;
  readonly positional?: string;
  readonly completes?: Completed;
  readonly sections: S;
  readonly rules?: readonly Rule<OptionsOf<Flat<Joined<S>>>>[];
  readonly derive?: Derive<OptionsOf<Flat<Joined<S>>>>;
}

/**
 * Combines sections into a program's table. Sections with the same title are merged. Throws if a flag is declared
 * twice.
 */
export const flagTable = <const S extends readonly FlagSection[]>({
  rules = [],
  derive,
  sections,
  ...source
}: TableSource<S>): FlagTable<Flat<Joined<S>>> => {
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

/** Returns the option name of a flag: `clusterSigningCertFile` for `cluster-signing-cert-file`. */
export const optionName = (flag: string): string => flag.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
