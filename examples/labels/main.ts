// The program: `node main.js --kubeconfig=... --leader-elect`. It needs a Service `policies` for its webhook.
import {runManager} from '@platio/plat/operator';
import {defaultPolicies, ownerPolicy} from './operator.js';

await runManager({
  name: 'policies',
  controllers: [defaultPolicies],
  webhooks: {handlers: [ownerPolicy], configurations: ['owners']},
});
