import type {Kind} from '#src/api/kinds.js';
import type {GroupToken} from '#src/api/naming.js';
import type {JsonSchema} from '#src/schema/custom/json-schema.js';

/** What discovery tells of one address, which is all that documents need to know of it. */
export interface DescribedAddress {
  readonly name: string;
  readonly kind: Kind;
  /** Of `create`, `delete`, `deletecollection`, `get`, `list`, `patch`, `update` and `watch`. */
  readonly verbs: readonly string[];
  /** Set where something other than the server answers. */
  readonly connect?: DescribedConnect | undefined;
}

/** How calls are passed on: for a text, to speak another protocol, or one by one with the paths below. */
export interface DescribedConnect {
  readonly mode: 'text' | 'stream' | 'calls';
  readonly options: readonly {readonly name: string; readonly type: 'string' | 'integer' | 'boolean'; readonly description: string}[];
}

/** What a custom resource's definition says of its objects. */
export interface DescribedSchema {
  readonly source: JsonSchema | undefined;
  readonly preserveUnknownFields?: boolean;
  /** Paths to fields by which objects are selected, such as `.spec.color`. */
  readonly selectableFields?: readonly string[];
}

export interface DescribedResource extends DescribedAddress {
  readonly subresources: readonly DescribedAddress[];
  /** What DELETE answers with; a Status unless said otherwise. */
  readonly deleteResponse?: 'object' | 'status' | undefined;
  /** Of a custom resource; asked for when a document is. The same until the definition changes. */
  readonly schema?: (() => DescribedSchema) | undefined;
}

/** The groups that documents describe, in the form in which discovery lists them. */
export interface DescribedGroup {
  readonly group: GroupToken;
  readonly versions: readonly {readonly version: string; readonly resources: readonly DescribedResource[]}[];
}
