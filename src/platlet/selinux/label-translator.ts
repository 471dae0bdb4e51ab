// Translates the SELinux options of containers to the labels of their files, by the policy of the machine.

import {join} from 'node:path';
import type {Frozen} from '#src/api/key.js';
import {messageOf} from '#src/base/message.js';
import type {Random} from '#src/base/random.js';
import type {Host} from '#src/platlet/host/host.js';
import {fileLabelOf, LabelError, parseSettings, randomLevel, type ContainerLabels, type SelinuxOptions} from './file-labels.js';

const sharedContexts = '/usr/share/containers/selinux/contexts';
const policies = '/etc/selinux';

/** Returns options as they appear in messages. */
const optionsText = ({user = '', role = '', type = '', level = ''}: Frozen<SelinuxOptions>): string =>
  JSON.stringify(`&SELinuxOptions{User:${user},Role:${role},Type:${type},Level:${level},}`);

/** Translates the options of containers. */
export class LabelTranslator {
  readonly #host: Pick<Host, 'isSelinuxEnabled' | 'read'>;
  readonly #random: Pick<Random, 'float'>;
  #enabled: Promise<boolean> | undefined;
  #labels: Promise<ContainerLabels> | undefined;

  constructor(host: Pick<Host, 'isSelinuxEnabled' | 'read'>, random: Pick<Random, 'float'>) {
    this.#host = host;
    this.#random = random;
  }

  /** Whether SELinux is enabled, which does not change while a machine runs. */
  isEnabled(): Promise<boolean> {
    return (this.#enabled ??= this.#host.isSelinuxEnabled());
  }

  /** Returns the label of a container's files; empty without options or SELinux. Rejects with `LabelError`. */
  async fileLabel(options: Frozen<SelinuxOptions>): Promise<string> {
    const isSet = Object.values(options).some(value => value !== undefined && value !== '');
    if (!isSet || !(await this.isEnabled())) return '';
    this.#labels ??= this.#read();
    try {
      return fileLabelOf(options, await this.#labels, () => randomLevel(this.#random));
    } catch (cause) {
      throw new LabelError(`failed to construct SELinux label from context ${optionsText(options)}: ${messageOf(cause)}`, {cause});
    }
  }

  async #read(): Promise<ContainerLabels> {
    const contexts = (await this.#text(sharedContexts)) ?? (await this.#text(await this.#policyContexts())) ?? '';
    const labels = parseSettings(contexts);
    return {process: labels.get('process') ?? '', file: labels.get('file') ?? ''};
  }

  async #policyContexts(): Promise<string> {
    const config = parseSettings((await this.#text(join(policies, 'config'))) ?? '');
    return join(policies, config.get('SELINUXTYPE') ?? '', 'contexts', 'lxc_contexts');
  }

  /** A file that cannot be read counts as missing. */
  async #text(path: string): Promise<string | undefined> {
    const content = await this.#host.read(path).catch(() => undefined);
    return content?.toString();
  }
}
