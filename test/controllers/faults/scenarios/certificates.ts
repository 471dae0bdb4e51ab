import {kinds} from '#src/api/kinds/index.js';
import {nodeClientUsages, nodeServingUsages, nodeUser, aRequest} from '#test/controllers/requests.js';
import type {Scenario} from '#test/controllers/faults/harness.js';
import {home, type Stage} from '#test/controllers/faults/stage.js';
import {hour, named} from './objects.js';

const signingRequest = async (stage: Stage) => {
  const signer = stage.naming.signers.apiserverClientAgent;
  const requests = stage.as(nodeUser).resource(kinds.certificateSigningRequests);
  for (const name of ['one', 'two']) await requests.create(await aRequest({name, signer, usages: nodeClientUsages}));
};

const approvalSet = async (stage: Stage) => {
  const requests = stage.client.resource(kinds.certificateSigningRequests);
  for (const csr of (await requests.list()).items) {
    await requests.update({...csr, status: {conditions: [{type: 'Approved', status: 'True', reason: 'Test'}]}}, {subresource: 'approval'});
  }
};

const servingRequest = async (stage: Stage) => {
  const address = {type: 'InternalIP', address: '10.0.0.7'};
  await stage.make(kinds.nodes, {metadata: {name: 'one'}});
  await stage.change(kinds.nodes, 'one', {status: {addresses: [address]}}, 'status');
  const parts = {signer: stage.naming.signers.agentServing, usages: nodeServingUsages, ipAddresses: [address.address]};
  await stage
    .as(nodeUser)
    .resource(kinds.certificateSigningRequests)
    .create(await aRequest({name: 'serving', ...parts}));
};

/** Scenarios of the controllers of certificates and their requests. */
export const certificateScenarios: Readonly<Record<string, Scenario>> = {
  'certificatesigningrequest-approving': {
    steps: [signingRequest],
    touch: kinds.certificateSigningRequests,
    compare: [kinds.certificateSigningRequests],
    blurred: ['request'],
  },
  'node-serving-approving': {
    steps: [servingRequest],
    touch: kinds.certificateSigningRequests,
    compare: [kinds.certificateSigningRequests],
    blurred: ['request'],
  },
  'certificatesigningrequest-signing': {
    steps: [signingRequest, approvalSet],
    touch: kinds.certificateSigningRequests,
    compare: [kinds.certificateSigningRequests],
    blurred: ['request', 'certificate'],
  },
  'certificatesigningrequest-cleaner': {
    steps: [signingRequest, approvalSet, () => Promise.resolve()],
    touch: kinds.certificateSigningRequests,
    compare: [kinds.certificateSigningRequests],
    settleMs: 26 * hour,
  },
  'root-ca-certificate-publisher': {
    steps: [
      stage => stage.make(kinds.namespaces, ...named(home, 'other')),
      async stage => {
        const {items} = await stage.client.resource(kinds.configMaps).list({namespace: home});
        await stage.change(kinds.configMaps, items[0]!.metadata!.name!, {data: {'ca.crt': 'mine'}});
      },
      async stage => {
        const {items} = await stage.client.resource(kinds.configMaps).list({namespace: home});
        await stage.remove(kinds.configMaps, items[0]!.metadata!.name!);
      },
    ],
    touch: kinds.namespaces,
    compare: [kinds.configMaps],
  },
};
