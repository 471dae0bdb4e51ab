import type {UserInfo} from '#src/api/user.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {documentsWithLines} from '#src/base/yaml/field-lines.js';
import {check, type CheckResult} from '#src/check/check.js';
import {readManifests} from '#src/check/files/read.js';
import {ServedKinds} from '#src/client/served-kinds.js';
import type {Finding} from '#src/check/findings/finding.js';
import {aPlane} from '#test/controllers/plane.js';

const admin: UserInfo = {name: 'admin', groups: ['system:masters', 'system:authenticated']};

/** A plane whose objects files are checked against, in the names of Kubernetes. */
export class Checks implements AsyncDisposable {
  readonly plane: Awaited<ReturnType<typeof aPlane>>;

  private constructor(plane: Awaited<ReturnType<typeof aPlane>>) {
    this.plane = plane;
  }

  static async start(): Promise<Checks> {
    const controllers = ['serviceaccount-controller', 'resourcequota-controller'];
    return new Checks(await aPlane({naming: 'kubernetes', controllers, nodes: 0}));
  }

  client(user = admin) {
    return this.plane.api.clientAs(user, 'test');
  }

  /** Creates the objects of a text, and lets the controllers see them. */
  async create(text: string): Promise<void> {
    const client = this.client();
    for (const {value} of documentsWithLines(text)) {
      const object = value as KubeObject & {apiVersion: string; kind: string};
      const kind: Kind = await new ServedKinds(client).of(object);
      await client
        .resource(kind)
        .create(
          {...object, metadata: {...(kind.namespaced ? {namespace: 'default'} : {}), ...object.metadata}},
          {fieldManager: 'kubectl-create'},
        );
      await this.plane.clock.drain();
    }
    await this.plane.clock.advance(1000);
  }

  async result(text: string, {user = admin, namespace = 'default'}: {user?: UserInfo; namespace?: string} = {}): Promise<CheckResult> {
    const manifests = await readManifests(['-'], {recursive: false, stdin: async () => text});
    return check(this.client(user), manifests, {clock: this.plane.clock, namespace, fieldManager: 'kubectl'});
  }

  async findings(text: string, options: {user?: UserInfo; namespace?: string} = {}): Promise<readonly Finding[]> {
    return (await this.result(text, options)).findings.kept;
  }

  /** The findings as `LINE RULE: MESSAGE`. */
  async lines(text: string, options: {user?: UserInfo; namespace?: string} = {}): Promise<string[]> {
    return (await this.findings(text, options)).map(({line, rule, message}) => `${line} ${rule}: ${message}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.plane.stop();
  }
}

export {kinds};
