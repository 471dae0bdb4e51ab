import type {Kind} from '#src/api/kinds.js';
import type {GroupToken} from '#src/api/naming.js';
import type {TypeRef} from '#src/schema/node.js';
import type {DescribedResource} from './description.js';
import type {Parameter} from './parameters.js';

/** A type, or any text. */
export type ResponseType = TypeRef | 'text';

/** What a document says of one method of one path, in no dialect yet. */
export interface Operation {
  readonly method: 'get' | 'put' | 'post' | 'delete' | 'options' | 'head' | 'patch';
  readonly id: string;
  readonly description: string;
  readonly tag: string;
  /** Of this operation alone. */
  readonly parameters: readonly Parameter[];
  readonly action?: string;
  readonly kind?: Kind;
  readonly body?: {readonly type: TypeRef; readonly required: boolean; readonly isPatch?: boolean};
  /** The type answered with, by status code. */
  readonly responses: Readonly<Record<string, ResponseType>>;
  /** Where it is not answered in the forms of objects: with plain text beside them, or with anything. */
  readonly responseFormat?: 'text' | 'any';
  /** Whether it can also be answered as a stream of events. */
  readonly streams?: boolean;
  /** What it reads and answers with, where that is not what all operations do. */
  readonly media?: {readonly reads: readonly string[]; readonly answers: readonly string[]};
  /** Whether it answers discovery, which knows fewer media types. */
  readonly plain?: boolean;
}

export interface Path {
  readonly path: string;
  /** Of every operation. */
  readonly parameters: readonly Parameter[];
  readonly operations: readonly Operation[];
}

/** Where a resource lies, and the words its operations are named by. */
export interface ResourceLocation {
  readonly group: GroupToken;
  readonly version: string;
  readonly resource: DescribedResource;
  /** `V1Namespaced`-like middle of operation names. */
  readonly groupVersionName: string;
  readonly scope: string;
  readonly root: string;
  readonly collection: string;
  readonly tag: string;
}

/** A type of the common parts of the API. */
export const meta = (name: string): TypeRef => ({group: 'meta', version: 'v1', name});
/** The type of a kind's objects. */
export const typeOf = ({group, version, kind}: Kind): TypeRef => ({group, version, name: kind});
/** The type of its lists. */
export const listOf = ({group, version, listKind}: Kind): TypeRef => ({group, version, name: listKind});
