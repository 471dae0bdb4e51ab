import type {Naming} from '#src/api/naming.js';
import type {Secret} from '#src/api/types.js';

export const tokenSecret = 'abcdefghijklmnop';

/**
 * The secret of a bootstrap token that signs and authenticates; entries replace its data, or remove them if undefined.
 */
export const aBootstrapToken = (naming: Naming, id: string, entries: Readonly<Record<string, string | undefined>> = {}): Secret => ({
  metadata: {namespace: naming.systemNamespace, name: `bootstrap-token-${id}`},
  type: naming.subKey('bootstrap', 'token'),
  data: Object.fromEntries(
    Object.entries({
      'token-id': id,
      'token-secret': tokenSecret,
      'usage-bootstrap-signing': 'true',
      'usage-bootstrap-authentication': 'true',
      ...entries,
    }).flatMap(([key, text]) => (text === undefined ? [] : [[key, Buffer.from(text).toString('base64')]])),
  ),
});
