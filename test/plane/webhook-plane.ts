import type {ExecutionContext} from 'ava';
import type {Status} from '#src/api/status.js';
import type {HookServer} from '#test/apiserver/admission/webhook-environment.js';
import {wire} from '#test/apiserver/wire.js';
import {aPlane} from '#test/controllers/plane.js';

/**
 * One plane for all, with everything that is on by default. Each test has a namespace of its own, by whose labels its
 * webhooks are held to it.
 */
export const plane = await aPlane({naming: 'kubernetes', controllers: []});

export const {get, post, put, patch, remove} = wire(plane.api.handler);

export type Answered = Awaited<ReturnType<typeof get>>;
type Kind = 'mutating' | 'validating';

export const configurations = (kind: Kind): string => `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations`;

let count = 0;
export const begin = async () => {
  const namespace = `hooks-${count++}`;
  await post('/api/v1/namespaces', {metadata: {name: namespace, labels: {hooks: namespace}}});
  await post(`/api/v1/namespaces/${namespace}/serviceaccounts`, {metadata: {name: 'default'}});
  const maps = `/api/v1/namespaces/${namespace}/configmaps`;
  return {
    namespace,
    maps,
    map: (name: string, data: Record<string, string> = {}) => post(maps, {metadata: {name}, data}),
    /** Puts webhooks into force in this namespace alone. */
    async register(kind: Kind, name: string, ...webhooks: readonly object[]) {
      const answer = await post(configurations(kind), {metadata: {name: `${namespace}-${name}`, labels: {of: namespace}}, webhooks});
      if (answer.status !== 201) throw new Error(answer.text);
      return answer;
    },
    hook: ({webhook}: HookServer, resources: readonly string[], more: object = {}) => ({
      name: 'hook.k8s.io',
      clientConfig: {url: webhook.url, caBundle: webhook.caBundle},
      rules: [{operations: ['CREATE', 'UPDATE'], apiGroups: ['*'], apiVersions: ['*'], resources}],
      namespaceSelector: {matchLabels: {hooks: namespace}},
      sideEffects: 'None',
      admissionReviewVersions: ['v1', 'v1beta1'],
      ...more,
    }),
  };
};

export const denied = (t: ExecutionContext, answer: Answered, message: string): void => {
  t.true(answer.status >= 400, answer.text);
  t.true(answer.json<Status>().message?.includes(message), answer.text);
};

export const data = (answer: Answered): object => answer.json<{data: object}>().data;
