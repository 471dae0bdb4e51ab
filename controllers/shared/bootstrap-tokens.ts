import type {Selection} from '#informers/selection.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Secret} from '#src/api/types.js';
import {tokenSecretType} from '#src/model/bootstrap-token.js';

/** The secrets of bootstrap tokens. */
export const bootstrapTokens: Selection<Secret> = {
  kind: kinds.secrets,
  namespace: naming => naming.systemNamespace,
  fieldSelector: naming => `type=${tokenSecretType(naming)}`,
};
