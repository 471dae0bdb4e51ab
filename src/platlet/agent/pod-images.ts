// Part of the sixth stage of an agent: image pulls, and the check which pods may use an image that is present.

import type {NodeFolders} from '#src/platlet/host/folders.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Client} from '#src/client/client.js';
import {AccountTokens, type ServiceAccounts} from '#src/platlet/credential-providers/account-tokens.js';
import {Provider} from '#src/platlet/credential-providers/provider.js';
import {ImageAccess} from '#src/platlet/images/image-access.js';
import {ImagePulls} from '#src/platlet/images/image-pulls.js';
import {PullCredentials, type PullCredentialsParts} from '#src/platlet/images/pull-credentials.js';
import {ImagePuller} from '#src/platlet/images/puller.js';
import {PullRecords} from '#src/platlet/images/pull-records.js';
import {verificationOf} from '#src/platlet/images/verification.js';
import {imageSizeRange} from '#src/platlet/metrics/image-sizes.js';
import type {PodTokens} from '#src/platlet/volumes/tokens.js';
import type {Cluster} from './cluster.js';
import type {AgentParts} from './parts.js';
import type {PodInputs} from './pod-objects.js';

/** The images of a node's pods. */
export interface PodImagesStage {
  readonly images: ImagePuller;
  /** Decides which pods may use a present image; undefined if all may. */
  readonly access: ImageAccess | undefined;
}

/** The results of the earlier stages. */
interface Before {
  readonly folders: NodeFolders;
  readonly cluster: Pick<Cluster, 'events'>;
  readonly inputs: Pick<PodInputs, 'objects' | 'handlerOf'>;
  readonly tokens: PodTokens;
}

/** Creates the image manager of the pods. Rejects if the records of earlier pulls cannot be read. */
export const podImages = async (
  parts: AgentParts,
  {folders, cluster: {events}, inputs: {objects, handlerOf}, tokens}: Before,
): Promise<PodImagesStage> => {
  const {settings, gate, naming, runtime, clock, log, metrics} = parts;
  const {serializeImagePulls, maxParallelImagePulls, registryPullQPS, registryBurst} = settings;
  const access = await accessOf(parts, folders);
  const limits = {parallel: serializeImagePulls ? 1 : maxParallelImagePulls || Infinity, qps: registryPullQPS, burst: registryBurst};
  const images = new ImagePuller({
    runtime,
    credentials: new PullCredentials({naming, objects, log, ...providedOf(parts, tokens)}),
    pulls: new ImagePulls({runtime, clock, limits, access}),
    access,
    events,
    clock,
    uses: {
      mounts: gate('ImageVolume'),
      handlerOf: gate('RuntimeClassInImageCriApi')
        ? ({spec}) => (spec?.runtimeClassName ? handlerOf(spec.runtimeClassName) : Promise.resolve(''))
        : undefined,
    },
    pulled: (seconds, bytes) => metrics.pullDuration.observe(seconds, {image_size_in_bytes: imageSizeRange(bytes)}),
  });
  return {images, access};
};

/** Returns what credential providers have for images. */
const providedOf = (parts: AgentParts, tokens: PodTokens): Pick<PullCredentialsParts, 'provided'> => {
  const {credentialProviders, clients, clock, log, metrics} = parts;
  if (!credentialProviders) return {};
  metrics.credentialProviderConfigInfo.set(1, {hash: credentialProviders.hash});
  const accounts = serviceAccountsOf(clients.main, tokens);
  const providers = credentialProviders.providers.map(({provider, path}) => {
    const {tokenAttributes} = provider;
    return new Provider({
      provider,
      path,
      accounts: tokenAttributes && new AccountTokens(tokenAttributes, accounts, log),
      clock,
      log,
      metrics,
    });
  });
  return {provided: async (pod, image) => (await Promise.all(providers.map(each => each.entries(pod, image)))).flat()};
};

/** The lifetime of tokens for credential providers is the default one. */
const tokenSeconds = 3_600;

const serviceAccountsOf = (client: Client, tokens: PodTokens): ServiceAccounts => ({
  get: (namespace, name) => client.resource(kinds.serviceAccounts).get(name, {namespace}),
  token: (pod, audience) => tokens.get(pod, {audience, expirationSeconds: tokenSeconds}),
});

const accessOf = async (
  {gate, host, naming, settings, runtime, clock, log, meter}: AgentParts,
  {root}: NodeFolders,
): Promise<ImageAccess | undefined> => {
  if (!gate('PlatletEnsureSecretPulledImages')) return undefined;
  const {imagePullCredentialsVerificationPolicy: policy, preloadedImagesVerificationAllowlist: allowlist} = settings;
  return ImageAccess.open({
    records: await PullRecords.open({host, naming, root}),
    needsVerification: verificationOf(policy, allowlist),
    runtime,
    clock,
    log,
    meter,
    agent: naming.agent,
  });
};
