import {bootstrapTokens} from '#controllers/shared/bootstrap-tokens.js';
import type {Selection} from '#informers/selection.js';
import {isDeepStrictEqual} from 'node:util';
import {kinds} from '#src/api/kinds/index.js';
import {isConflict, isNotFound} from '#src/api/status.js';
import type {ConfigMap} from '#src/api/types.js';
import {detachedSignature} from '#src/model/bootstrap-signature.js';
import {clusterInfoKey, clusterInfoName, signatureKey} from '#src/model/bootstrap-token.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {signingTokenOf} from './tokens.js';

/** The config map that is signed. */
export const clusterInfo: Selection<ConfigMap> = {
  kind: kinds.configMaps,
  namespace: naming => naming.publicNamespace,
  fieldSelector: `metadata.name=${clusterInfoName}`,
};

/**
 * Brings the signatures in the config map up to date. A failed update is not retried: the next change of the config map
 * or of a token repeats it.
 */
export const signer = ({lister, writer, clock, naming}: KeyedContext): Reconcile => {
  const cached = lister(clusterInfo);
  const tokens = lister(bootstrapTokens);
  const configMaps = writer(kinds.configMaps);
  const prefix = signatureKey(naming, '');

  return async (_, {log}) => {
    const configMap = cached.get({namespace: naming.publicNamespace, name: clusterInfoName});
    const content = configMap?.data?.[clusterInfoKey(naming)];
    if (!configMap || content === undefined) return settled;
    const now = clock.now();
    const others = Object.entries(configMap.data ?? {}).filter(([key]) => !key.startsWith(prefix));
    const signatures = [...tokens.list()].flatMap(secret => {
      const token = signingTokenOf(secret, now);
      return token ? [[signatureKey(naming, token.id), detachedSignature(content, token)] as const] : [];
    });
    const data = Object.fromEntries([...others, ...signatures]);
    if (isDeepStrictEqual(data, configMap.data)) return settled;
    try {
      await configMaps.update({...(configMap as ConfigMap), data});
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) log.error({err: error}, 'the cluster-info config map could not be signed');
    }
    return settled;
  };
};
