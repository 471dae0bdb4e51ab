import {isNotFound} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';
import {documentedKind, type TypesDocument} from '#src/schema/openapi/schema-nodes.js';
import type {SchemaNode} from '#src/schema/node.js';
import {discover, groupVersionOf, type FoundResource} from '#controllers/shared/discovery.js';

/** A kind by its names on the wire. */
export interface KindName {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** How messages write a kind. */
export const kindText = ({group, version, kind}: KindName): string => `${group}/${version}, Kind=${kind}`;

/** A resource as a rule names it. */
export type ResourceName = Pick<FoundResource, 'group' | 'version' | 'resource'>;

/** Which kinds resources have, as far as that is known; what is not known is asked for once more. */
export interface Resources {
  kindsOf(resource: ResourceName): Promise<readonly KindName[]>;
}

const keptMs = 30_000;

/** What the server serves, remembered for half a minute. `lookup` begins with a policy, which may have it asked for anew once. */
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
            served.filter(one => one.group === group && one.version === version && (one.resource === resource || one.kind.toLowerCase() === resource)).map(({kind}) => ({group, version, kind}));
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

/** The structures of kinds as the server documents them. What is asked for of one group version is asked for once. */
export const documentedKinds = (client: Client) => {
  const documents = new Map<string, Promise<TypesDocument>>();
  return async (name: KindName): Promise<SchemaNode | undefined> => {
    const path = `/openapi/v3/${name.group ? 'apis' : 'api'}/${groupVersionOf(name)}`;
    let document = documents.get(path);
    if (!document) documents.set(path, (document = client.request('GET', path, {accept: 'application/json'}).then(answer => answer as TypesDocument, ignoreNotFound)));
    return documentedKind(await document, name);
  };
};

/** A group version without a document has no structures. */
const ignoreNotFound = (error: unknown): TypesDocument => {
  if (isNotFound(error)) return {};
  throw error;
};
