/** A file to write. */
export interface GeneratedFile {
  readonly name: string;
  readonly text: string;
}
