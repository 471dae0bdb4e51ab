import type {InterceptedRequest} from '#src/api/faults/interceptor.js';

export const nameOf = (namespace: string, name: string): string => [namespace, name].filter(Boolean).join('/');

export const groupResource = ({group, resource}: Pick<InterceptedRequest, 'group' | 'resource'>): string =>
  group ? `${resource}.${group}` : resource;

/** Describes a request: `patch deployments.apps/status default/a`. */
export const wordsOf = (request: InterceptedRequest): string => {
  const {verb, subresource, namespace, name} = request;
  return `${verb} ${groupResource(request)}${subresource ? `/${subresource}` : ''} ${nameOf(namespace, name)}`.trimEnd();
};

/** Returns who makes a request, for the trace. */
export const actorOf = ({user}: InterceptedRequest): string => (user === 'plat-admin' ? 'scenario' : user.split(':').at(-1)!);
