import {createHash} from 'node:crypto';
import {unlessMissing} from '#src/client/missing.js';
import {serverAuthorityOf, type ServerAuthorityOptions} from '#controllers/shared/certificates/server-authority.js';
import type {Selection} from '#informers/selection.js';
import {apiVersionOf, kinds, type Kind, type ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Client} from '#src/client/client.js';
import {settled, singletonKey, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';

type Bundle = ObjectOf<typeof kinds.clusterTrustBundles>;

/** Returns the kind in the newest version that the server has; undefined if it has none. */
const servedKind = async (client: Client): Promise<Kind<Bundle> | undefined> => {
  for (const kind of [kinds.clusterTrustBundles, kinds.clusterTrustBundlesV1alpha1]) {
    const found = await unlessMissing(client.request('GET', `/apis/${apiVersionOf(client.naming, kind)}`));
    const {resources = []} = (found ?? {}) as {readonly resources?: readonly {readonly name: string}[]};
    if (resources.some(({name}) => name === kind.plural)) return kind;
  }
  return undefined;
};

const nothing: Reconcile = () => Promise.resolve(settled);

/** Returns the name of the bundle with this content: a new content gets a new name. */
export const bundleName = ({signers}: Naming, content: string): string => {
  const hash = createHash('sha256').update(content).digest().subarray(0, 12).toString('hex');
  return `${signers.apiserverServing.replaceAll('/', ':')}:${hash}`;
};

/** Writes the bundle, then deletes all others of the signer. */
export const publisher = async (context: KeyedContext<ServerAuthorityOptions>): Promise<Reconcile> => {
  const {client, log, naming} = context;
  const content = await serverAuthorityOf(context);
  if (!content) {
    log.v(1).info('no cluster trust bundle is published: neither --root-ca-file nor the connection settings have a CA bundle');
    return nothing;
  }
  const kind = await servedKind(client);
  if (kind) return publish(context, kind, content);
  log.v(1).info({group: naming.group('certificates')}, 'no cluster trust bundle is published: the API server does not serve them');
  return nothing;
};

const publish = ({lister, listen, writer, naming, enqueue}: KeyedContext, kind: Kind<Bundle>, content: string): Reconcile => {
  const signerName = naming.signers.apiserverServing;
  const name = bundleName(naming, content);
  const ofSigner: Selection<Bundle> = {kind, fieldSelector: `spec.signerName=${signerName}`};
  const bundles = lister(ofSigner);
  const trustBundles = writer(kind);
  listen(ofSigner, () => enqueue(singletonKey));
  enqueue(singletonKey);

  return async (_, {log}) => {
    const spec = {signerName, trustBundle: content};
    const found = bundles.get({namespace: '', name});
    if (!found) await trustBundles.create({metadata: {name}, spec});
    else if (found.spec.trustBundle !== content) await trustBundles.update({...(found as Bundle), spec});

    let failure: unknown;
    for (const bundle of bundles.list()) {
      if (bundle.metadata?.name === name) continue;
      try {
        await unlessMissing(trustBundles.delete(bundle, {onlyIf: 'named'}));
      } catch (error) {
        failure = error;
        log.error({clusterTrustBundle: bundle.metadata?.name, err: error}, 'an old cluster trust bundle could not be deleted');
      }
    }
    if (failure) throw failure;
    return settled;
  };
};
