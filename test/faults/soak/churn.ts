// The load of a soak: deployments, jobs, certificate requests and config maps of a few names each are created, changed
// and deleted again and again.

import {generateKeyPairSync} from 'node:crypto';
import {setTimeout as wait} from 'node:timers/promises';
import {apiVersionOf, kinds} from '#src/api/kinds/index.js';
import type {Kind} from '#src/api/kind.js';
import type {KubeObject} from '#src/api/types.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import {createSigningRequest} from '#src/pki/signing-request.js';

const namespace = 'default';
const namesEach = 5;
const signingRequest = Buffer.from(
  createSigningRequest(generateKeyPairSync('ec', {namedCurve: 'P-256'}).privateKey, {
    subject: {commonName: 'soak', organizations: ['soak']},
  }),
).toString('base64');

const podSpec = {containers: [{name: 'main', image: 'registry.example.com/main:1'}], terminationGracePeriodSeconds: 1};
const labelled = (app: string) => ({metadata: {labels: {app}}, spec: podSpec});

export class Churn {
  /** Requests that were answered, and those that failed. */
  readonly counts = {done: 0, failed: 0};
  readonly #client: Client;
  readonly #random: Random;

  constructor(client: Client, random: Random) {
    this.#client = client;
    this.#random = random;
  }

  async run(workers: number, signal: AbortSignal): Promise<void> {
    await Promise.all(
      Array.from({length: workers}, async () => {
        while (!signal.aborted) {
          try {
            await this.#next();
            this.counts.done++;
          } catch {
            this.counts.failed++;
            await wait(100);
          }
          await wait(this.#below(60));
        }
      }),
    );
  }

  #below(bound: number): number {
    return Math.floor(this.#random.float() * bound);
  }

  async #next(): Promise<void> {
    const name = `soak-${this.#below(namesEach)}`;
    const acts = [
      this.#createDeployment,
      this.#scale,
      this.#scale,
      this.#restart,
      this.#writeConfigMap,
      this.#writeConfigMap,
      this.#writeConfigMap,
    ];
    acts.push(this.#createJob, this.#requestCertificate, this.#delete);
    await acts[this.#below(acts.length)]!.call(this, name);
  }

  async #createDeployment(name: string): Promise<void> {
    const spec = {replicas: this.#below(6), revisionHistoryLimit: 1, selector: {matchLabels: {app: name}}, template: labelled(name)};
    await this.#create(kinds.deployments, name, {spec});
  }

  async #scale(name: string): Promise<void> {
    await this.#client.resource(kinds.deployments).patch(name, 'merge', {spec: {replicas: this.#below(6)}}, {namespace});
  }

  async #restart(name: string): Promise<void> {
    const annotations = {restarted: String(this.#random.float())};
    await this.#client.resource(kinds.deployments).patch(name, 'merge', {spec: {template: {metadata: {annotations}}}}, {namespace});
  }

  async #writeConfigMap(name: string): Promise<void> {
    const data = {value: 'x'.repeat(this.#below(2000))};
    const body = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name}, data};
    await this.#client.resource(kinds.configMaps).patch(name, 'apply', body, {namespace, fieldManager: 'soak', force: true});
  }

  async #createJob(name: string): Promise<void> {
    await this.#create(kinds.jobs, name, {spec: {completions: 2, parallelism: 2, template: {spec: {...podSpec, restartPolicy: 'Never'}}}});
  }

  async #requestCertificate(name: string): Promise<void> {
    const requests = this.#client.resource(kinds.certificateSigningRequests);
    const signerName = 'kubernetes.io/kube-apiserver-client';
    await this.#create(kinds.certificateSigningRequests, name, {spec: {request: signingRequest, signerName, usages: ['client auth']}});
    const request = await requests.get(name);
    const conditions = [{type: 'Approved', status: 'True', reason: 'Soak', message: 'approved'}];
    await requests.update({...request, status: {...(request as {status?: object}).status, conditions}} as never, {subresource: 'approval'});
  }

  async #delete(name: string): Promise<void> {
    const kind = [kinds.deployments, kinds.jobs, kinds.certificateSigningRequests, kinds.configMaps][this.#below(4)] as Kind;
    await this.#client.resource(kind).delete(name, {...(kind.namespaced ? {namespace} : {}), propagationPolicy: 'Background'});
  }

  async #create<T extends KubeObject>(kind: Kind<T>, name: string, rest: object): Promise<void> {
    const metadata = kind.namespaced ? {name, namespace} : {name};
    await this.#client
      .resource(kind)
      .create({apiVersion: apiVersionOf(this.#client.naming, kind), kind: kind.kind, metadata, ...rest} as unknown as T);
  }
}
