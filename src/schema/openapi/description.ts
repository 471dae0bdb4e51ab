import type {Kind} from '#src/api/kinds/index.js';
import type {GroupToken} from '#src/api/naming.js';
import type {JsonSchema} from '#src/schema/json-schema.js';

// What documents need to know about the served resources, as discovery lists them.

/** What discovery lists for one endpoint, which is all that documents need. */
export interface DescribedAddress {
  readonly name: string;
  readonly kind: Kind;
  /** Of `create`, `delete`, `deletecollection`, `get`, `list`, `patch`, `update` and `watch`. */
  readonly verbs: readonly string[];
  /** Set for connect subresources. */
  readonly connect?: DescribedConnect | undefined;
}

/** How calls are relayed: as a text response, as an upgraded connection, or one by one with the paths below. */
export interface DescribedConnect {
  readonly mode: 'text' | 'stream' | 'calls';
  readonly options: readonly {readonly name: string; readonly type: 'string' | 'integer' | 'boolean'; readonly description: string}[];
}

/** What a custom resource definition declares about its objects. */
export interface DescribedSchema {
  readonly source: JsonSchema | undefined;
  readonly preserveUnknownFields?: boolean;
  /** The paths of selectable fields, such as `.spec.color`. */
  readonly selectableFields?: readonly string[];
}

export interface DescribedResource extends DescribedAddress {
  readonly subresources: readonly DescribedAddress[];
  /** The response of DELETE; default `status`. */
  readonly deleteResponse?: 'object' | 'status' | undefined;
  /** Set for custom resources; called when a document is built. Returns the same value until the definition changes. */
  readonly schema?: (() => DescribedSchema) | undefined;
}

/** The groups that documents describe, as discovery lists them. */
export interface DescribedGroup {
  readonly group: GroupToken;
  readonly versions: readonly {readonly version: string; readonly resources: readonly DescribedResource[]}[];
}
