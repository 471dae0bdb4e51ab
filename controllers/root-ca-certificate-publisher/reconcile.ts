import {serverAuthorityOf, type ServerAuthorityOptions} from '#controllers/shared/certificates/server-authority.js';
import type {Selection} from '#informers/selection.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {hasCause, isNotFound} from '#src/api/status.js';
import type {ConfigMap} from '#src/api/types.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';

/** The published config maps: one of this name in each namespace. */
export const bundles: Selection<ConfigMap> = {kind: kinds.configMaps, fieldSelector: naming => `metadata.name=${naming.rootCaConfigMap}`};

const bundleKey = 'ca.crt';

const description = ({prefix, title, selfServiceNames}: Naming): string =>
  `Contains a CA bundle that can be used to verify the ${prefix}-apiserver when using internal endpoints such as the internal service IP or ${selfServiceNames[2]}. No other usage is guaranteed across distributions of ${title} clusters.`;

/** Creates or repairs the config map of the namespace that the key names. */
export const publisher = async (context: KeyedContext<ServerAuthorityOptions>): Promise<Reconcile> => {
  const {lister, writer, naming} = context;
  const bundle = await serverAuthorityOf(context);
  const cached = lister(bundles);
  const configMaps = writer(kinds.configMaps);
  const annotation = naming.annotations.description;

  const isUpToDate = ({data = {}, metadata}: Frozen<ConfigMap>) =>
    data[bundleKey] === bundle && Object.keys(data).length === 1 && Boolean(metadata?.annotations?.[annotation]);
  const repaired = (configMap: Frozen<ConfigMap>) => {
    const {metadata, ...rest} = configMap as ConfigMap;
    return {
      ...rest,
      metadata: {...metadata, annotations: {...metadata?.annotations, [annotation]: description(naming)}},
      data: {[bundleKey]: bundle},
    };
  };

  return async ({name: namespace}) => {
    const name = naming.rootCaConfigMap;
    const configMap = cached.get({namespace, name});
    if (!configMap) await ignoreTerminating(configMaps.create(repaired({metadata: {namespace, name}})));
    else if (!isUpToDate(configMap)) await configMaps.update(repaired(configMap));
    return settled;
  };
};

/** Nothing can be created in a deleted or terminating namespace. */
const ignoreTerminating = async (write: Promise<unknown>): Promise<void> => {
  try {
    await write;
  } catch (error) {
    if (!isNotFound(error) && !hasCause(error, 'NamespaceTerminating')) throw error;
  }
};
