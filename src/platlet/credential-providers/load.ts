// Loads the credential providers that flags name.

import {constants} from 'node:fs';
import * as fs from 'node:fs/promises';
import {join} from 'node:path';
import type {Naming} from '#src/api/naming.js';
import {messageOf} from '#src/base/message.js';
import {providersIn, type ConfigurationFile} from './configuration.js';
import type {CredentialProvider} from './credential-provider.js';

/** A provider with the path of its program. */
export interface InstalledProvider {
  readonly provider: CredentialProvider;
  readonly path: string;
}

export interface InstalledProviders {
  readonly providers: readonly InstalledProvider[];
  /** The digest of the configuration. */
  readonly hash: string;
}

export interface LoadProvidersParts {
  /** A file, or a directory of files. */
  readonly configuration: string;
  /** The directory of the programs. */
  readonly programs: string;
  readonly namings: readonly Naming[];
  /** Whether providers may ask for tokens of service accounts. */
  readonly acceptsTokens: boolean;
}

/** Rejects with an error of one line. */
export const loadProviders = async (parts: LoadProvidersParts): Promise<InstalledProviders> => {
  const {configuration, programs, namings, acceptsTokens} = parts;
  await fs.stat(programs).catch((cause: unknown) => {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    const problem = isMissing ? `plugin binary directory ${programs} did not exist` : `error inspecting binary directory ${programs}`;
    throw new Error(isMissing ? problem : `${problem}: ${messageOf(cause)}`, {cause});
  });
  const {providers, hash} = providersIn(await configurationFiles(configuration), namings, acceptsTokens);
  return {hash, providers: await Promise.all(providers.map(provider => installed(provider, join(programs, provider.name))))};
};

const extension = /\.(?:json|ya?ml)$/;

const configurationFiles = async (path: string): Promise<readonly ConfigurationFile[]> => {
  const status = await fs.stat(path).catch((cause: unknown) => {
    throw new Error(`unable to access path ${JSON.stringify(path)}: ${messageOf(cause)}`, {cause});
  });
  if (!status.isDirectory()) return [await fileAt(path)];
  const entries = await fs.readdir(path, {withFileTypes: true});
  const names = entries.filter(entry => !entry.isDirectory() && extension.test(entry.name)).map(({name}) => name);
  if (names.length === 0) throw new Error(`no configuration files found in directory ${JSON.stringify(path)}`);
  return Promise.all(names.sort().map(name => fileAt(join(path, name))));
};

const fileAt = async (path: string): Promise<ConfigurationFile> => {
  try {
    return {path, content: await fs.readFile(path)};
  } catch (cause) {
    throw new Error(`unable to read file ${JSON.stringify(path)}: ${messageOf(cause)}`, {cause});
  }
};

const installed = async (provider: CredentialProvider, path: string): Promise<InstalledProvider> => {
  try {
    await fs.access(path, constants.X_OK);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') throw new Error(`plugin binary executable ${path} did not exist`, {cause});
    throw new Error(`error inspecting binary executable ${path}: ${messageOf(cause)}`, {cause});
  }
  return {provider, path};
};
