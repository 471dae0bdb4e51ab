import {writeFile} from 'node:fs/promises';
import {followFiles, systemFiles} from '#src/base/files/files.js';
import {Undo} from '#src/base/undo.js';
import {untilStopped} from '#src/program/program.js';
import {removeAllRules, removeOtherRules} from '#src/proxy/cleanup/cleanup.js';
import type {Settings} from '#src/proxy/configuration/fields.js';
import {writtenConfiguration} from '#src/proxy/configuration/written.js';
import {systemKernel} from '#src/proxy/kernel/system-kernel.js';
import {supportedFamilies, type ModeName} from '#src/proxy/modes/prepare.js';
import {resolveSettings} from '#src/proxy/node/rule-settings.js';
import {yamlText} from '#src/schema/encode/yaml-text.js';
import type {ProxyInvocation} from './configuration.js';
import {setConntrack, setOomScore} from './machine.js';
import {nodeReference, openNode} from './open.js';
import {prepare, ruleConfiguration} from './rules.js';
import {serve} from './serve.js';

type Given = ProxyInvocation;

/** `plat-proxy`: routes the services of this node, until it is stopped. Returns the exit code. */
export const runProxy = async (given: Given): Promise<number> => {
  const {parsed, log, stopping} = given;
  const {options, settings, naming} = parsed;
  if (options.writeConfigTo) {
    await writeFile(options.writeConfigTo, yamlText(writtenConfiguration(settings, naming)));
    log.info({file: options.writeConfigTo}, 'wrote the configuration');
    return 0;
  }
  if (options.cleanup) {
    await removeAllRules(systemKernel, log);
    return 0;
  }
  const mode = modeOf(settings);
  await removeOtherRules(mode, systemKernel, log);
  await using undo = new Undo();
  await Promise.race([runMode(given, mode, undo), untilStopped(stopping)]);
  log.info('stopping');
  return 0;
};

const modeOf = ({mode}: Settings): ModeName => {
  if (mode === 'ipvs') throw new Error('there is no mode ipvs: use --proxy-mode=nftables, or iptables');
  return mode === 'nftables' ? 'nftables' : 'iptables';
};

const runMode = async (given: Given, mode: ModeName, undo: Undo): Promise<void> => {
  const {parsed, log, ready} = given;
  const {settings, options} = parsed;
  const opened = await openNode(given, mode, undo);
  const {node, nodeName, connection, events, signal} = opened;
  const regarding = nodeReference(opened);
  const readOnly = (message: string) => events.warning(regarding, 'readOnlySysFS', message);
  await setConntrack(settings, {kernel: systemKernel, log, readOnly});
  const families = await supportedFamilies({mode, kernel: systemKernel, log});
  const resolved = resolveSettings(ruleConfiguration(settings, nodeName), node, families, log);
  const prepared = await prepare(given, opened, resolved);
  if (options.initOnly) return log.info('the system is initialized, and --init-only was given');
  await setOomScore(settings.oomScoreAdj, log);
  const ended = serve(given, opened, {resolved, prepared}, undo);
  events.normal(regarding, 'Starting', '');
  ready(`routing services of node ${nodeName} by ${mode} against ${connection.server} (${connection.naming.name} naming)`);
  await Promise.race([ended, configurationChanged(given, signal)]);
};

/** Rejects once the configuration file has changed. */
const configurationChanged = ({parsed: {options}, clock}: Given, signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const {config} = options;
    if (!config) return;
    const content = async () => (await systemFiles.read(config))?.toString();
    const first = content();
    const check = async (): Promise<void> => {
      if ((await content()) !== (await first)) reject(new Error("content of the proxy server's configuration file was updated"));
    };
    followFiles({files: systemFiles, clock, paths: [config], signal, check});
  });
