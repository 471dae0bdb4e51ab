// Lists what a release bundles, as a document of SPDX 2.3 in JSON.
import {createHash} from 'node:crypto';

/** Expressions of licences from SPDX's list. */
const isExpression = text => /^\(?[\w.+-]+(?: (?:AND|OR|WITH) \(?[\w.+-]+\)?)*\)?$/.test(text);

/** The characters that identifiers may have. */
const identifierOf = text => text.replace(/^@/, '').replaceAll(/[^a-zA-Z0-9.-]/g, '-');
const packageId = ({name, version, file}) =>
  `SPDXRef-${file ? 'File' : 'Package'}-${identifierOf(file ? file.name : `${name}-${version}`)}`;

/** Returns the expression of a licence. Texts of licences that are not on SPDX's list are in the document. */
const licenceOf = each =>
  each.licence !== undefined && isExpression(each.licence) ? each.licence : `LicenseRef-${identifierOf(each.name)}`;

const extractedOf = each => ({
  licenseId: licenceOf(each),
  name: `The licence of ${each.name}`,
  extractedText: each.text ?? `The package names its licence as ${JSON.stringify(each.licence)}.`,
});

const isExtracted = each => licenceOf(each).startsWith('LicenseRef-');

/** The URL of a package without the name of a registry, and with the characters that its grammar wants. */
const npmPurl = ({name, version}) => `pkg:npm/${name.replace('@', '%40')}@${version.replaceAll('+', '%2B')}`;
export const debPurl = ({name, version, arch}, distribution) =>
  `pkg:deb/${distribution}/${name.replaceAll('+', '%2B')}@${encodeURIComponent(version)}?arch=${arch}`;

const packageOf = each => ({
  SPDXID: packageId(each),
  name: each.name,
  versionInfo: each.version,
  ...(each.file ? {packageFileName: each.file.name, checksums: [{algorithm: 'SHA256', checksumValue: each.file.sha256}]} : {}),
  downloadLocation: 'NOASSERTION',
  filesAnalyzed: false,
  licenseConcluded: 'NOASSERTION', // Nobody has read the files of the packages for this list.
  licenseDeclared: licenceOf(each),
  copyrightText: 'NOASSERTION',
  ...(each.purpose ? {primaryPackagePurpose: each.purpose} : {}),
  externalRefs: [{referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: each.purl ?? npmPurl(each)}],
});

const unique = packages => [...new Map(packages.map(each => [packageId(each), each])).values()];

/**
 * Returns the document about the files of a release: `files` are packages of their own with what they contain, in
 * `contains`. `created` is a time in whole seconds; `name` and `version` are those of the release. A document about
 * other files has another namespace, and one about the same files the same.
 */
export const spdxOf = ({name, version, files, created}) => {
  const packages = unique(files.flatMap(each => [each, ...each.contains]));
  const extracted = packages.filter(isExtracted).map(extractedOf);
  const content = createHash('sha256')
    .update(JSON.stringify([files, created]))
    .digest('hex');
  const relation = (spdxElementId, relationshipType, other) => ({spdxElementId, relationshipType, relatedSpdxElement: packageId(other)});
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: `${name}-${version}`,
    documentNamespace: `https://spdx.org/spdxdocs/${name}-${version}-${content.slice(0, 32)}`,
    creationInfo: {created, creators: [`Tool: ${name}-release-${version}`]},
    packages: packages.map(packageOf),
    ...(extracted.length > 0 ? {hasExtractedLicensingInfos: extracted} : {}),
    relationships: [
      ...files.map(each => relation('SPDXRef-DOCUMENT', 'DESCRIBES', each)),
      ...files.flatMap(each => each.contains.map(other => relation(packageId(each), 'CONTAINS', other))),
    ],
  };
};
