import type {Kind} from '#src/api/kinds/index.js';
import type {GroupToken} from '#src/api/naming.js';
import type {TypeRef} from '#src/schema/node.js';
import type {DescribedResource} from './description.js';
import type {Parameter} from './parameters.js';

// Operations and paths, independent of the OpenAPI version.

/** A type, or plain text. */
export type ResponseType = TypeRef | 'text';

/** One method of one path, independent of the OpenAPI version. */
export interface Operation {
  readonly method: 'get' | 'put' | 'post' | 'delete' | 'options' | 'head' | 'patch';
  readonly id: string;
  readonly description: string;
  readonly tag: string;
  /** Parameters of this operation only. */
  readonly parameters: readonly Parameter[];
  readonly action?: string;
  readonly kind?: Kind;
  readonly body?: {readonly type: TypeRef; readonly required: boolean; readonly isPatch?: boolean};
  /** The response type by status code. */
  readonly responses: Readonly<Record<string, ResponseType>>;
  /** Set if responses are not only in the objects' media types: plain text as well, or anything. */
  readonly responseFormat?: 'text' | 'any';
  /** Whether the response can be a watch stream. */
  readonly streams?: boolean;
  /** The media types of requests and responses, if they differ from the usual ones. */
  readonly media?: {readonly reads: readonly string[]; readonly answers: readonly string[]};
  /** Set for discovery, which has fewer media types. */
  readonly plain?: boolean;
}

export interface Path {
  readonly path: string;
  /** Parameters of every operation. */
  readonly parameters: readonly Parameter[];
  readonly operations: readonly Operation[];
}

/** The path of a resource and the names in its operation ids. */
export interface ResourceLocation {
  readonly group: GroupToken;
  readonly version: string;
  readonly resource: DescribedResource;
  /** The group version in operation ids, such as `CoreV1`. */
  readonly groupVersionName: string;
  readonly scope: string;
  readonly root: string;
  readonly collection: string;
  readonly tag: string;
}

/** Returns a type of the meta group. */
export const meta = (name: string): TypeRef => ({group: 'meta', version: 'v1', name});
/** Returns the type of a kind's objects. */
export const typeOf = ({group, version, kind}: Kind): TypeRef => ({group, version, name: kind});
/** Returns the type of a kind's lists. */
export const listOf = ({group, version, listKind}: Kind): TypeRef => ({group, version, name: listKind});
