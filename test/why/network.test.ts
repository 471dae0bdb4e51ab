import test from 'ava';
import {aCloud} from '#test/controllers/clouds.js';
import {aPod, kinds, Situations} from './situations.js';

const cloud = aCloud({faults: [{call: 'loadBalancers.ensure', of: 'default/balanced', error: 'the quota of addresses is used up'}]});
const at = await Situations.start(['endpointslice-controller', 'node-lifecycle-controller', 'service-lb-controller'], {
  nodes: 1,
  controllerManagerArgs: cloud.args,
});
test.after.always(() => at[Symbol.asyncDispose]());

const seconds = 1_000;

test.serial('a service whose selector matches no pod says so', async t => {
  await at.create(kinds.services, {metadata: {name: 'none'}, spec: {selector: {app: 'none', tier: 'web'}, ports: [{port: 80}]}});

  t.deepEqual(await at.answer(kinds.services, 'none', 5 * seconds), [
    'Service default/none is blocked: it has no endpoints, as no pod in its namespace matches its selector app=none,tier=web.',
    'Pods with these labels, or another selector.',
  ]);
});

test.serial('a service whose pods are not ready waits for the first of them', async t => {
  await at.create(kinds.pods, aPod('crash', {labels: {app: 'crash'}, behavior: '{runFor: 1s, exitCode: 1}'}));
  await at.create(kinds.services, {metadata: {name: 'crash'}, spec: {selector: {app: 'crash'}, ports: [{port: 80}]}});

  t.deepEqual(await at.answer(kinds.services, 'crash', 30 * seconds), [
    'Service default/crash is blocked by Pod default/crash: its container app ends again and again, the last time with code 1 (Error), and has restarted twice.',
    'A program that keeps running: kubectl logs crash -n default -c app --previous. The agent starts it again at 2026-01-01T00:00:39Z.',
  ]);
});

test.serial('a service waits for a container port of the name that it asks for', async t => {
  await at.create(
    kinds.pods,
    aPod('web', {labels: {app: 'web'}, containers: [{name: 'app', image: 'nginx', ports: [{name: 'http', containerPort: 80}]}]}),
  );
  await at.create(kinds.services, {
    metadata: {name: 'port'},
    spec: {selector: {app: 'web'}, ports: [{name: 'main', port: 80, targetPort: 'web'}]},
  });

  t.deepEqual(await at.answer(kinds.services, 'port', 10 * seconds), [
    'Service default/port is blocked: its port main has no endpoints, as no container of its pods has a port of the name web.',
    'A container port with the name web, or another targetPort.',
  ]);
});

test.serial('a service without a selector waits for endpoints of others', async t => {
  await at.create(kinds.services, {metadata: {name: 'outside'}, spec: {ports: [{port: 80}]}});

  t.deepEqual(await at.answer(kinds.services, 'outside', 5 * seconds), [
    'Service default/outside is blocked: it has no selector, and nobody has made an EndpointSlice for it.',
    'An EndpointSlice with addresses, by whoever runs what is behind it.',
  ]);
});

test.serial('a service waits for its load balancer', async t => {
  await at.create(kinds.services, {
    metadata: {name: 'balanced'},
    spec: {type: 'LoadBalancer', selector: {app: 'web'}, ports: [{port: 80}]},
  });
  await at.create(kinds.services, {
    metadata: {name: 'elsewhere'},
    spec: {type: 'LoadBalancer', loadBalancerClass: 'example.com/metal', selector: {app: 'web'}, ports: [{port: 80}]},
  });

  t.deepEqual(await at.answer(kinds.services, 'balanced', 20 * seconds), [
    'Service default/balanced is blocked: it has no load balancer: failed to ensure load balancer: the quota of addresses is used up.',
    'The service controller of the cloud provider, once it succeeds; it tries again.',
  ]);
  t.deepEqual(await at.answer(kinds.services, 'elsewhere'), [
    'Service default/elsewhere is blocked: it has no load balancer, and no cloud provider has reported about it (its class is example.com/metal).',
    'A controller that makes load balancers here: that of a cloud provider, or one for machines of your own.',
  ]);
});

test.serial('a service with endpoints waits for nothing', async t => {
  await at.create(kinds.services, {metadata: {name: 'web'}, spec: {selector: {app: 'web'}, ports: [{port: 80, targetPort: 'http'}]}});

  t.deepEqual(await at.answer(kinds.services, 'web', 10 * seconds), [
    'Service default/web waits for nothing: 1 endpoint behind it is ready.',
    undefined,
  ]);
});

const backend = (name: string) => ({defaultBackend: {service: {name, port: {number: 80}}}});

test.serial('an ingress without a class waits for one', async t => {
  await at.create(kinds.ingresses, {metadata: {name: 'classless'}, spec: backend('web')});

  t.deepEqual(await at.answer(kinds.ingresses, 'classless'), [
    'Ingress default/classless is blocked: it has no class, and there is no default one, so that no controller serves it.',
    'A spec.ingressClassName, once an ingress controller is installed.',
  ]);
});

test.serial('an ingress waits for its class, its backend and its controller in this order', async t => {
  await at.create(kinds.ingresses, {metadata: {name: 'site'}, spec: {ingressClassName: 'edge', ...backend('shop')}});
  t.deepEqual(await at.answer(kinds.ingresses, 'site'), [
    'Ingress default/site is blocked: its class edge does not exist, so that no controller serves it.',
    'The creation of the ingress class edge, or another spec.ingressClassName.',
  ]);

  await at.create(kinds.ingressClasses, {metadata: {name: 'edge'}, spec: {controller: 'example.com/edge'}});
  t.deepEqual(await at.answer(kinds.ingresses, 'site'), [
    'Ingress default/site is blocked: its backend is the service shop, which does not exist.',
    'The creation of the service shop in the namespace default.',
  ]);

  await at.create(kinds.services, {metadata: {name: 'shop'}, spec: {ports: [{port: 80}]}});
  t.deepEqual(await at.answer(kinds.ingresses, 'site'), [
    'Ingress default/site is blocked: it has no address, as the controller example.com/edge of its class has not written one.',
    'The controller example.com/edge, as soon as it works.',
  ]);
});
