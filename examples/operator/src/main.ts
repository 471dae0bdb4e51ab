import {runManager} from '@platio/plat/operator';
import {configurations, controllers, webhooks} from './operator.js';

await runManager({
  name: 'my-operator',
  controllers,
  ...(webhooks.length > 0 ? {webhooks: {handlers: webhooks, configurations}} : {}),
});
