import {readFile} from 'node:fs/promises';
import type {ClientPair} from './request-credentials.js';
import {oneLine} from './one-line.js';
import {readAnchors} from './tls-handshake.js';
import type {ConnectionSettings, Material} from './settings.js';

/** The certificates and keys of a TLS connection. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly pair?: ClientPair;
}

/** Reads the files that the settings name. An unreadable one is named in the error. */
export const readMaterial = async ({trust, identity, source}: ConnectionSettings): Promise<TlsMaterial> => {
  const {certificate} = identity;
  const [ca, cert, key] = await Promise.all([
    content(trust.ca, source, 'certificate authority'),
    content(certificate?.cert, source, 'client certificate'),
    content(certificate?.key, source, 'client key'),
  ]);
  return {...(ca ? {ca} : {}), ...(cert && key ? {pair: {cert, key}} : {})};
};

/** Reads the same for connections to the server: a file of certificate authorities that holds none is named, too. */
export const readServerMaterial = async (settings: ConnectionSettings): Promise<TlsMaterial> => {
  const {
    trust: {ca, insecure},
    source,
  } = settings;
  const material = await readMaterial(settings);
  try {
    if (ca && material.ca && !insecure) readAnchors(material.ca);
  } catch (cause) {
    throw new Error(`${source}: certificate authority ${ca && 'file' in ca ? ca.file : 'data'}: ${oneLine(cause)}`, {cause});
  }
  return material;
};

export const sameMaterial = (one: TlsMaterial, other: TlsMaterial): boolean =>
  one.ca === other.ca && one.pair?.cert === other.pair?.cert && one.pair?.key === other.pair?.key;

/** Whether any of it is read from files, and may change. */
export const isReloadable = ({trust, identity}: ConnectionSettings): boolean =>
  [trust.ca, identity.certificate?.cert, identity.certificate?.key].some(material => material !== undefined && 'file' in material);

const content = async (material: Material | undefined, source: string, what: string): Promise<string | undefined> => {
  if (!material || 'data' in material) return material?.data;
  try {
    return await readFile(material.file, 'utf8');
  } catch (cause) {
    throw new Error(`${source}: ${what} ${material.file}: ${oneLine(cause)}`, {cause});
  }
};
