// The subset of TypeScript that describes kinds: types, interfaces, aliases, enums, constants, and the handles of
// kinds. Everything carries its place for messages. What has no schema is kept with the reason, since it only matters
// if a kind uses it.

import type {Doc} from '#src/codegen/doc.js';
import type {JsonSchema} from '#src/schema/json-schema.js';

/** A file and a line in it. */
export interface Place {
  readonly file: string;
  readonly line: number;
}

export type LiteralValue = string | number | boolean | null;

export type TypeNode = {readonly at: Place} & (
  | {readonly is: 'literal'; readonly value: LiteralValue}
  /** `Name`, `Name<A, B>`, or `Enum.Member` and `library.Name` with a qualifier. */
  | {readonly is: 'name'; readonly name: string; readonly of: readonly TypeNode[]; readonly qualifier?: string}
  | {readonly is: 'array'; readonly items: TypeNode}
  | {readonly is: 'tuple'; readonly members: readonly TypeNode[]}
  | {readonly is: 'union' | 'intersection'; readonly members: readonly TypeNode[]}
  | {readonly is: 'object'; readonly body: Body}
  | {readonly is: 'keyof'; readonly type: TypeNode}
  /** `T[K]`. */
  | {readonly is: 'index'; readonly type: TypeNode; readonly key: TypeNode}
  | ({readonly is: 'mapped'} & Mapped)
  | ({readonly is: 'conditional'} & Conditional)
  | {readonly is: 'infer'; readonly name: string}
  /** A template literal: the texts, and the types between them. */
  | {readonly is: 'template'; readonly texts: readonly string[]; readonly types: readonly TypeNode[]}
  /** `typeof name`. */
  | {readonly is: 'value'; readonly name: string}
  /** A type with the comment of the property that it is taken from. */
  | {readonly is: 'documented'; readonly type: TypeNode; readonly doc: Doc}
  /** A type of Kubernetes or of the package. */
  | {readonly is: 'schema'; readonly schema: JsonSchema; readonly name: string}
  /** What has no schema, with the message if it is used. */
  | {readonly is: 'none'; readonly reason: string}
);

/** `{[Parameter in keys as name]?: type}`. */
export interface Mapped {
  readonly parameter: string;
  readonly keys: TypeNode;
  readonly as?: TypeNode;
  /** What is done to the mark of optional properties. */
  readonly optional: 'kept' | 'added' | 'removed';
  readonly type: TypeNode;
}

/** `check extends base ? yes : no`. */
export interface Conditional {
  readonly check: TypeNode;
  readonly base: TypeNode;
  readonly yes: TypeNode;
  readonly no: TypeNode;
  /** The parameter that was checked: the branches are taken for each member of its union. */
  readonly distributesOver?: string;
}

/** What stands between the braces of an interface. */
export interface Body {
  readonly properties: readonly Property[];
  /** The type of an index signature. */
  readonly index?: TypeNode;
}

export interface Property {
  readonly name: string;
  readonly isOptional: boolean;
  readonly type: TypeNode;
  readonly doc: Doc;
  readonly at: Place;
}

/** A parameter of a generic type. */
export interface Parameter {
  readonly name: string;
  readonly default?: TypeNode;
}

export type Declaration = {readonly name: string; readonly doc: Doc; readonly at: Place; readonly parameters: readonly Parameter[]} & (
  | {readonly is: 'interface'; readonly bases: readonly TypeNode[]; readonly body: Body}
  | {readonly is: 'alias'; readonly type: TypeNode}
  | {readonly is: 'enum'; readonly members: readonly Property[]}
);

/** The arguments of `customKind`: literals, the names of constants, or neither. */
export interface Handle {
  readonly type: string;
  readonly fields: Readonly<Record<string, string | boolean | {readonly constant: string} | undefined>>;
  readonly at: Place;
}

/** Where an imported name comes from. The name `*` stands for all names of the module. */
export interface Import {
  readonly from: string;
  readonly name: string;
}

export interface SourceFile {
  readonly file: string;
  readonly declarations: ReadonlyMap<string, Declaration>;
  readonly imports: ReadonlyMap<string, Import>;
  /** The modules of which every name is exported. */
  readonly reexports: readonly string[];
  /** The types of constants that are literals. */
  readonly constants: ReadonlyMap<string, TypeNode>;
  readonly handles: readonly Handle[];
}

/** An error of one line with its place. */
export const failureAt = ({file, line}: Place, message: string): Error => new Error(`${file}:${line}: ${message}`);
