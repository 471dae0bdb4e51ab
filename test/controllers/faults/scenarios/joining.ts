import {kinds} from '#src/api/kinds/index.js';
import type {PodCertificateRequest} from '#src/api/kinds/certificates.js';
import {wireTime} from '#src/api/time.js';
import {samples} from '#test/apiserver/samples.js';
import {aBootstrapToken} from '#test/controllers/bootstrap-tokens.js';
import type {Scenario} from '#test/controllers/faults/harness.js';
import type {Stage} from '#test/controllers/faults/stage.js';

const minute = 60_000;

const tokensOf = ({client, naming}: Stage) => {
  const secrets = client.resource(kinds.secrets);
  return {
    create: (id: string, entries?: Readonly<Record<string, string>>) => secrets.create(aBootstrapToken(naming, id, entries)),
    remove: (id: string) => secrets.delete(`bootstrap-token-${id}`, {namespace: naming.systemNamespace}),
  };
};

const trustBundles = ({client}: Stage) => client.resource(kinds.clusterTrustBundles);
const signerName = ({naming}: Stage) => naming.signers.apiserverServing;
const aTrustBundle = ({naming}: Stage) => (samples(naming)['ClusterTrustBundle'] as {spec: {trustBundle: string}}).spec.trustBundle;

/** Scenarios of the controllers for joining nodes and for certificates of pods and of the API server. */
export const joiningScenarios: Readonly<Record<string, Scenario>> = {
  'bootstrap-signer': {
    steps: [
      async stage => {
        const {publicNamespace: namespace, prefix} = stage.naming;
        await tokensOf(stage).create('first0');
        await stage.client
          .resource(kinds.configMaps)
          .create({metadata: {namespace, name: 'cluster-info'}, data: {[`${prefix}config`]: 'one'}});
      },
      stage => tokensOf(stage).create('second'),
      async ({client, naming: {publicNamespace: namespace, prefix}}) => {
        await client.resource(kinds.configMaps).patch('cluster-info', 'merge', {data: {[`${prefix}config`]: 'two'}}, {namespace});
      },
      stage => tokensOf(stage).remove('first0'),
    ],
    touch: kinds.configMaps,
    compare: [kinds.configMaps],
  },
  'token-cleaner': {
    steps: [
      async stage => {
        const {create} = tokensOf(stage);
        for (const [id, inMinutes] of [
          ['passed', -1],
          ['first0', 1],
          ['second', 2],
        ] as const)
          await create(id, {expiration: wireTime(stage.clock.now() + inMinutes * minute)});
        await create('always');
      },
    ],
    settleMs: 5 * minute,
    touch: kinds.secrets,
    compare: [kinds.secrets],
  },
  'podcertificaterequest-cleaner': {
    args: ['--feature-gates=PodCertificateRequest=true'],
    gates: ['PodCertificateRequest'],
    steps: [
      async stage => {
        const sample = samples(stage.naming)['PodCertificateRequest'] as PodCertificateRequest;
        await stage.make(kinds.podCertificateRequests, {...sample, metadata: {name: 'one'}}, {...sample, metadata: {name: 'two'}});
      },
    ],
    settleMs: 35 * minute,
    touch: kinds.podCertificateRequests,
    compare: [kinds.podCertificateRequests],
  },
  'plat-apiserver-serving-clustertrustbundle-publisher': {
    args: ['--feature-gates=ClusterTrustBundle=true'],
    gates: ['ClusterTrustBundle'],
    steps: [
      async stage => {
        const name = `${signerName(stage).replace('/', ':')}:old`;
        await trustBundles(stage).create({metadata: {name}, spec: {signerName: signerName(stage), trustBundle: aTrustBundle(stage)}});
      },
      async stage => {
        const {items} = await trustBundles(stage).list();
        for (const bundle of items) {
          const spec = {...bundle.spec, trustBundle: aTrustBundle(stage)};
          await trustBundles(stage).update({...bundle, spec});
        }
      },
      async stage => {
        for (const {metadata} of (await trustBundles(stage).list()).items) await trustBundles(stage).delete(metadata!.name!);
      },
    ],
    touch: kinds.clusterTrustBundles,
    compare: [kinds.clusterTrustBundles],
    blurred: ['trustBundle'],
  },
};
