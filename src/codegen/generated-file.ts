/** A file to write. */
export interface GeneratedFile {
  readonly name: string;
  readonly text: string;
  /** What its reader should know, in one line. */
  readonly note?: string;
}
