import type {ServerResponse} from 'node:http';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {ApiRequest} from '#src/api/request.js';
import type {UserInfo} from '#src/api/user.js';
import {aPlane, type TestPlaneOptions} from '#test/controllers/plane.js';
import {ask1, serve} from '#test/serving/server.js';
import {json, startWebhook, type Respond, type Seen, type TestWebhook} from './webhook-server.js';

export type ApiService = ObjectOf<typeof kinds.apiServices>;
export type Condition = {readonly status: string; readonly reason: string; readonly message: string};

export const jane: UserInfo = {
  name: 'jané',
  uid: 'u1',
  groups: ['devs', 'system:masters', 'system:authenticated'],
  extra: {'example.com/Teäm': ['a', 'b']},
};
export const group = 'wardle.example.com';
export const root = `/apis/${group}/v1`;
export const name = `v1.${group}`;
export const flunders = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: `${group}/v1`,
  resources: [
    {
      name: 'flunders',
      singularName: 'flunder',
      namespaced: true,
      kind: 'Flunder',
      verbs: ['create', 'get', 'list', 'watch'],
      shortNames: ['fl'],
    },
  ],
};

export type Answer = (seen: Seen, response: ServerResponse) => void;

/** Serves the paths that every aggregated server has, and its documents; the test handles the rest. */
export const backendThat =
  (respond: Answer = (_, response) => json(response, {}, 404), documents: Readonly<Record<string, Answer>> = {}): Respond =>
  (seen, response) => {
    const document = documents[seen.url];
    if (document) return document(seen, response);
    if (seen.url === root) return json(response, flunders);
    if (seen.url === '/apis' || seen.url.startsWith('/openapi/')) return json(response, {}, 404);
    respond(seen, response);
  };

export interface Options extends TestPlaneOptions {
  readonly documents?: Readonly<Record<string, Answer>>;
  readonly spec?: object;
  readonly service?: object;
  readonly hosts?: readonly string[];
  /** Whether callers need roles. */
  readonly roles?: boolean;
}

/** A plane with a server behind it, reached by a service that stands for a name of this machine. */
export const start = async (
  respond?: Answer,
  {spec = {}, service = {}, hosts = ['back.apps.svc'], documents, roles = false, ...options}: Options = {},
) => {
  const backend = await startWebhook(backendThat(respond, documents), {hosts, requestsCertificate: true});
  // Roles take time to make, and most tests do not need them.
  const plane = await aPlane({
    controllers: [],
    ...options,
    apiserverArgs: [`--authorization-mode=${roles ? 'RBAC' : 'AlwaysAllow'}`, ...(options.apiserverArgs ?? [])],
  });
  const client = plane.client();
  await client.resource(kinds.namespaces).create({metadata: {name: 'apps'}});
  const services = client.resource(kinds.services);
  await services.create({metadata: {namespace: 'apps', name: 'back'}, spec: {type: 'ExternalName', externalName: 'localhost', ...service}});
  const objects = client.resource(kinds.apiServices);
  await objects.create(registrationOf(backend, spec));
  await plane.clock.drain();
  // Responses carry deadlines of the clock of the plane.
  const server = await serve(request => plane.api.handler(asJane(request)), {http: {clock: plane.clock}});
  const condition = async (): Promise<Condition | undefined> => {
    const {status, reason = '', message = ''} = (await objects.get(name)).status?.conditions?.find(({type}) => type === 'Available') ?? {};
    return status === undefined ? undefined : {status, reason, message};
  };
  return {
    plane,
    clock: plane.clock,
    backend,
    client,
    services,
    objects,
    server,
    condition,
    text: async (path: string, headers: Record<string, string> = {}) => {
      const {status, body} = await ask1(server, {path, headers});
      return [status, body.toString()] as const;
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await plane.stop();
      await backend.close();
    },
  };
};

/** The request as the HTTP server receives it, with a caller that the process vouches for. */
export const asJane = (request: ApiRequest): ApiRequest =>
  new Proxy(request, {
    get(target, field) {
      if (field === 'caller') return {user: jane};
      const value: unknown = Reflect.get(target, field, target);
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
    },
  });

export const registrationOf = ({port, caBundle}: TestWebhook, spec: object): ApiService => ({
  metadata: {name},
  spec: {
    group,
    version: 'v1',
    groupPriorityMinimum: 2000,
    versionPriority: 20,
    service: {namespace: 'apps', name: 'back', port},
    caBundle,
    ...spec,
  },
});

export const aggregatedForm = 'application/json;g=apidiscovery.plat.io;v=v2;as=APIGroupDiscoveryList';
export type Listed = {
  items: {metadata: {name: string}; versions: {version: string; freshness: string; resources?: {resource: string}[]}[]}[];
};

export const reported = async (env: Awaited<ReturnType<typeof start>>) => {
  const {body} = await ask1(env.server, {path: '/apis', headers: {accept: aggregatedForm}});
  return (JSON.parse(body.toString()) as Listed).items.find(({metadata}) => metadata.name === group);
};
