import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {parse} from 'yaml';
import {aDirectory, type ServerProcess} from '#test/cli/programs.js';
import type {Kubectl} from './kubectl.js';

/** Writes a kubeconfig with a token of the account that the manifests in `controllers-only` make. Returns its path. */
export const accountSettings = async (server: ServerProcess, kubectl: Kubectl): Promise<string> => {
  const folder = aDirectory();
  const token = await kubectl.ok('create token plat-controllers -n plat-controllers');
  writeFileSync(join(folder, 'token'), token.trim(), {mode: 0o600});
  const {clusters} = parse(readFileSync(server.settings, 'utf8')) as {clusters: object[]};
  const settings = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters,
    users: [{name: 'pod', user: {tokenFile: join(folder, 'token')}}],
    contexts: [{name: 'pod', context: {cluster: (clusters[0] as {name: string}).name, user: 'pod'}}],
    'current-context': 'pod',
  };
  const file = join(folder, 'settings');
  writeFileSync(file, JSON.stringify(settings), {mode: 0o600});
  return file;
};
