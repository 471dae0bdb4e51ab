// An agent that joins a plane in process, on a virtual clock.

import {mkdtempSync, rmSync} from 'node:fs';
import {readFile, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {UserInfo} from '#src/api/user.js';
import {systemFiles} from '#src/base/files/files.js';
import {seededRandom} from '#src/base/random.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {Client} from '#src/client/client.js';
import {ensureJoining} from '#src/controlplane/joining.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {parseCertificateBundle} from '#src/pki/certificate.js';
import type {Plane} from '#src/plane/plane.js';
import {openIdentity, type IdentityConnection, type IdentityParts, type OpenedIdentity} from '#src/platlet/certificates/identity.js';
import {systemHost} from '#src/platlet/host/system-host.js';
import type {ClientPair} from '#src/transport/request-credentials.js';
import type {ConnectionSettings} from '#src/transport/settings.js';
import {aPlane} from '#test/controllers/plane.js';
import {requestsOf} from '#test/controllers/requests.js';
import {recordingLog} from '#test/runtime/environment.js';

export type JoinedPlane = Plane & {readonly clock: VirtualClock};

/** A plane that nodes may join, whose certificates are valid for an hour. */
export const aJoinablePlane = async (...controllers: readonly string[]): Promise<JoinedPlane> => {
  const plane = await aPlane({
    controllers: controllers.length > 0 ? controllers : ['certificatesigningrequest-approving-controller', signer],
    controllerManagerArgs: ['--cluster-signing-duration=1h'],
    apiserverArgs: ['--authorization-mode=Node,RBAC', '--enable-admission-plugins=NodeRestriction'],
  });
  await ensureJoining(plane.client(), {server: 'https://plane.example:6443', ca: 'ca'});
  await plane.clock.drain();
  return plane;
};

export const signer = 'certificatesigningrequest-signing-controller';

/** A connection of an agent, with the certificates that it was given. */
export interface Connection extends IdentityConnection {
  readonly user: UserInfo;
  /** The user that it began with. */
  readonly first: UserInfo;
  readonly later: ClientPair[];
}

/** The folder of an agent, with bootstrap settings. */
export class JoiningAgent implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'plat-join-'));
  readonly plane: JoinedPlane;
  readonly recorded = recordingLog();
  readonly meter = new MetricsRegistry();
  readonly connections: Connection[] = [];
  /** Before this time, of the plane's clock, the server does not answer. */
  unreachableUntil = -Infinity;
  #stopping = new AbortController();

  private constructor(plane: JoinedPlane) {
    this.plane = plane;
  }

  static async at(plane: JoinedPlane): Promise<JoiningAgent> {
    const agent = new JoiningAgent(plane);
    const settings = {
      clusters: [
        {name: 'c', cluster: {server: 'https://plane.example:6443', 'certificate-authority-data': Buffer.from('ca').toString('base64')}},
      ],
      users: [{name: 'u', user: {token: 'abcdef.0123456789abcdef'}}],
      contexts: [{name: 'x', context: {cluster: 'c', user: 'u'}}],
      'current-context': 'x',
    };
    await writeFile(agent.path('bootstrap'), JSON.stringify(settings));
    return agent;
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  read(name: string): Promise<string> {
    return readFile(this.path(name), 'utf8');
  }

  /** Joins, until it is stopped. */
  join(change: Partial<IdentityParts<Connection>> = {}): Promise<OpenedIdentity<Connection>> {
    return openIdentity({
      nodeName: 'one',
      settingsFile: this.path('settings'),
      bootstrapFile: this.path('bootstrap'),
      folder: this.path('pki'),
      rotates: true,
      open: settings => this.#open(settings),
      files: systemFiles,
      host: systemHost,
      clock: this.plane.clock,
      random: seededRandom(1),
      log: this.recorded.log,
      meter: this.meter,
      signal: this.#stopping.signal,
      ...change,
    });
  }

  stop(): void {
    this.#stopping.abort();
    this.#stopping = new AbortController();
  }

  async #open(settings: ConnectionSettings): Promise<Connection> {
    const first = await userOf(settings);
    let user = first;
    const later: ClientPair[] = [];
    const connection: Connection = {
      first,
      get user() {
        return user;
      },
      later,
      naming: this.plane.naming,
      client: () => (this.plane.clock.now() < this.unreachableUntil ? unreachable(this.plane.client(user)) : this.plane.client(user)),
      async useCertificate(pair) {
        later.push(pair);
        user = nodeOf(pair.cert as string);
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
    this.connections.push(connection);
    return connection;
  }

  [Symbol.dispose](): void {
    this.stop();
    rmSync(this.folder, {recursive: true, force: true});
  }
}

const userOf = async ({identity: {token, certificate}}: ConnectionSettings): Promise<UserInfo> => {
  if (token) return {name: 'system:bootstrap:abcdef', groups: ['system:bootstrappers:platadm:default-node-token', 'system:authenticated']};
  if (!certificate) return {name: 'system:anonymous', groups: ['system:unauthenticated']};
  const {cert} = certificate;
  return nodeOf('data' in cert ? cert.data : await readFile(cert.file, 'utf8'));
};

/** A client whose requests do not reach the server. */
const unreachable = (client: Client): Client => {
  const refuse = (): Promise<never> => Promise.reject(new Error('connect ECONNREFUSED'));
  return {...client, request: refuse, resource: kind => ({...client.resource(kind), create: refuse})};
};

const nodeOf = (text: string): UserInfo => {
  const {commonName, organizations = []} = parseCertificateBundle(text)[0]!.subject;
  return {name: commonName!, groups: [...organizations, 'system:authenticated']};
};

/** Lets time pass until an agent has a certificate. Returns its identity. */
export const certified = async (plane: JoinedPlane, work: Promise<OpenedIdentity<Connection>>): Promise<OpenedIdentity<Connection>> => {
  const identity = await settled(plane, work);
  while (!identity.connection.user.name.startsWith('system:node:')) await settled(plane, new Promise(resolve => setTimeout(resolve, 1)));
  return identity;
};

/** Lets time pass until a promise has settled: files are read in real time. */
export const settled = async <T>({clock}: JoinedPlane, work: Promise<T>): Promise<T> => {
  const ended = new Set<unknown>();
  const end = () => void ended.add(work);
  work.then(end, end);
  while (!ended.has(work)) {
    await new Promise(resolve => setTimeout(resolve, 1));
    await clock.advance(50);
  }
  return work;
};

/** Lets time pass until there is another request than before, and returns its name. */
export const newRequest = async (plane: JoinedPlane, before: readonly (string | undefined)[] = []): Promise<string> => {
  for (;;) {
    const name = (await requestsOf(plane).names()).find(each => !before.includes(each));
    if (name !== undefined) return name;
    await settled(plane, new Promise(resolve => setTimeout(resolve, 1)));
  }
};
