import type {Kind} from '#src/api/kinds.js';
import type {GroupToken} from '#src/api/naming.js';
import type {Client} from '#src/client/client.js';
import type {Definition} from '#src/resources/apiextensions/types.js';
import {storageVersion} from '#src/resources/apiextensions/versions.js';
import type {Instances} from './finalize.js';

/** The kind of a definition's objects, in a version that is served if there is one. */
const kindOf = ({spec, status}: Definition): Kind => {
  const names = {...spec.names, ...status?.acceptedNames};
  return {
    group: spec.group as GroupToken,
    version: spec.versions.find(({served}) => served)?.name ?? storageVersion(spec) ?? '',
    kind: names.kind,
    plural: names.plural,
    singular: names.singular ?? '',
    listKind: names.listKind ?? '',
    namespaced: spec.scope === 'Namespaced',
  };
};

const pageSize = 500;

/** The objects of custom resources, by way of a client. */
export const instancesOver = (client: Client): Instances => ({
  async namespaces(definition) {
    const objects = client.metadata(kindOf(definition));
    const found: string[] = [];
    let token: string | undefined;
    do {
      const {items, metadata} = await objects.list({limit: pageSize, ...(token ? {continue: token} : {})});
      for (const item of items) found.push(item.metadata?.namespace ?? '');
      token = metadata?.continue;
    } while (token);
    return found;
  },
  async remove(definition, namespace) {
    await client.resource(kindOf(definition)).deleteCollection(namespace ? {namespace} : {});
  },
});
