// The subset of TypeScript that describes kinds: interfaces, aliases, and the handles of kinds. Everything carries its
// place for messages.

import type {Doc} from '#src/codegen/doc.js';

/** A file and a line in it. */
export interface Place {
  readonly file: string;
  readonly line: number;
}

export type TypeNode = {readonly at: Place} & (
  | {readonly is: 'literal'; readonly value: string | number | boolean | null}
  | {readonly is: 'name'; readonly name: string; readonly of: readonly TypeNode[]}
  | {readonly is: 'array'; readonly items: TypeNode}
  | {readonly is: 'union' | 'intersection'; readonly members: readonly TypeNode[]}
  | {readonly is: 'object'; readonly body: Body}
);

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

export type Declaration = {readonly name: string; readonly doc: Doc; readonly at: Place} & (
  | {readonly is: 'interface'; readonly bases: readonly TypeNode[]; readonly body: Body}
  | {readonly is: 'alias'; readonly type: TypeNode}
);

/** The arguments of `customKind`, as far as they are literals. */
export interface Handle {
  readonly type: string;
  readonly fields: Readonly<Record<string, string | boolean>>;
  readonly at: Place;
}

/** Where an imported name comes from. */
export interface Import {
  readonly from: string;
  readonly name: string;
}

export interface SourceFile {
  readonly file: string;
  readonly declarations: ReadonlyMap<string, Declaration>;
  readonly imports: ReadonlyMap<string, Import>;
  readonly handles: readonly Handle[];
}

/** An error of one line with its place. */
export const failureAt = ({file, line}: Place, message: string): Error => new Error(`${file}:${line}: ${message}`);
