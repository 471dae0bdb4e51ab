const architectures: Readonly<Record<string, string>> = {x64: 'amd64', ia32: '386'};

export interface ProgramVersion {
  readonly program: string;
  /** Like `v1.35.0`. */
  readonly version: string;
  readonly commit: string;
}

/**
 * The user agent of a component: `<program>/<version> (linux/amd64) plat/<commit>`, optionally followed by a slash and
 * the part of the component.
 */
export const userAgent = ({program, version, commit}: ProgramVersion, part?: string): string => {
  const platform = `${process.platform}/${architectures[process.arch] ?? process.arch}`;
  return `${program}/${version} (${platform}) plat/${commit.slice(0, 7) || 'unknown'}${part ? `/${part}` : ''}`;
};
