import {isNotFound} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';
import {documentedKind, type TypesDocument} from '#src/schema/openapi/schema-nodes.js';
import type {SchemaNode} from '#src/schema/node.js';
import {discover, groupVersionOf, type FoundResource} from '#controllers/shared/discovery.js';

/** The group, version and kind of a kind. */
export interface KindName {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Formats a kind for messages. */
export const kindText = ({group, version, kind}: KindName): string => `${group}/${version}, Kind=${kind}`;

/** A resource in a rule. */
export type ResourceName = Pick<FoundResource, 'group' | 'version' | 'resource'>;

/** Resolves resources to kinds; an unknown resource triggers discovery once. */
export interface Resources {
  kindsOf(resource: ResourceName): Promise<readonly KindName[]>;
}

const keptMs = 30_000;

/** Caches discovery for 30 s. `lookup` is for one policy, which may trigger one refresh. */
export const servedResources = (client: Client, clock: Clock) => {
  let known: {readonly served: readonly FoundResource[]; readonly atMs: number} | undefined;
  const refresh = async (): Promise<readonly FoundResource[]> => {
    known = {served: (await discover(client)).served, atMs: clock.monotonic()};
    return known.served;
  };
  return {
    lookup(): Resources {
      let isFresh = false;
      return {
        async kindsOf({group, version, resource}) {
          const among = (served: readonly FoundResource[]) =>
            served
              .filter(
                one => one.group === group && one.version === version && (one.resource === resource || one.kind.toLowerCase() === resource),
              )
              .map(({kind}) => ({group, version, kind}));
          if (known && clock.monotonic() - known.atMs < keptMs) {
            const found = among(known.served);
            if (found.length > 0 || isFresh) return found;
          }
          isFresh = true;
          return among(await refresh());
        },
      };
    },
  };
};

/** Returns a function that reads the schemas of kinds from OpenAPI. Each group version is requested once. */
export const documentedKinds = (client: Client) => {
  const documents = new Map<string, Promise<TypesDocument>>();
  return async (name: KindName): Promise<SchemaNode | undefined> => {
    const path = `/openapi/v3/${name.group ? 'apis' : 'api'}/${groupVersionOf(name)}`;
    let document = documents.get(path);
    if (!document)
      documents.set(
        path,
        (document = client.request('GET', path, {accept: 'application/json'}).then(response => response as TypesDocument, ignoreNotFound)),
      );
    return documentedKind(await document, name);
  };
};

/** A group version without a document has no schemas. */
const ignoreNotFound = (error: unknown): TypesDocument => {
  if (isNotFound(error)) return {};
  throw error;
};
