const piece = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const host = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const domain = `(?:${host}(?:\\.${host})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const reference = new RegExp(`^(?:${domain}/)?${piece}(?:/${piece})*(?::(?<tag>\\w[\\w.-]{0,127}))?(?<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$`);

/** Whether an image is taken by a tag that means something else every time. One that is told by its digest, or is no image's name, is not. */
export const followsLatest = (image: string): boolean => {
  const found = reference.exec(image)?.groups;
  return found !== undefined && (found['tag'] ?? (found['digest'] ? '' : 'latest')) === 'latest';
};
