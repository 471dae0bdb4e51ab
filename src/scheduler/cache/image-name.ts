/** Returns the name of an image as nodes report it. */
export const normalizedImageName = (image: string): string =>
  image.lastIndexOf(':') <= image.lastIndexOf('/') ? `${image}:latest` : image;
