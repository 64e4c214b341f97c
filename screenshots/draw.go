package main

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"

	uv "github.com/charmbracelet/ultraviolet"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// Sizes in pixels, at twice the usual scale.
const (
	fontSize   = 26
	cellWidth  = 16
	cellHeight = 34
	baseline   = 26 // from the top of a cell
	padding    = 24
	shades     = 16 // levels of antialiasing: few enough that the colours of a picture fit into a palette
)

// typeface draws the glyphs. A glyph that the font lacks is an error.
type typeface struct{ regular, bold font.Face }

func loadTypeface(dir string) (*typeface, error) {
	load := func(name string) (font.Face, error) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		face, err := parseFace(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return face, nil
	}
	regular, err := load("DejaVuSansMono.ttf")
	bold, err2 := load("DejaVuSansMono-Bold.ttf")
	return &typeface{regular, bold}, errors.Join(err, err2)
}

func parseFace(data []byte) (font.Face, error) {
	f, err := opentype.Parse(data)
	if err != nil {
		return nil, err
	}
	return opentype.NewFace(f, &opentype.FaceOptions{Size: fontSize, DPI: 72, Hinting: font.HintingFull})
}

// picture draws the cells of a screen as a terminal does.
func (f *typeface) picture(rows [][]uv.Cell, t terminal) (image.Image, error) {
	w, h := 0, len(rows)
	for _, row := range rows {
		w = max(w, len(row))
	}
	img := image.NewRGBA(image.Rect(0, 0, w*cellWidth+2*padding, h*cellHeight+2*padding))
	fill(img, img.Bounds(), t.background)
	for y, row := range rows {
		for x, cell := range row {
			if cell.Width == 0 { // the second half of a wide cell
				continue
			}
			at := image.Rect(0, 0, cell.Width*cellWidth, cellHeight).Add(image.Pt(padding+x*cellWidth, padding+y*cellHeight))
			if err := f.cell(img, at, cell, t); err != nil {
				return nil, fmt.Errorf("line %d, column %d: %w", y+1, x+1, err)
			}
		}
	}
	return slim(img), nil
}

func (f *typeface) cell(img *image.RGBA, at image.Rectangle, cell uv.Cell, t terminal) error {
	ink, paper := t.colours(cell.Style)
	fill(img, at, paper)
	if cell.Style.Underline != 0 {
		fill(img, image.Rect(at.Min.X, at.Min.Y+baseline+3, at.Max.X, at.Min.Y+baseline+5), ink)
	}
	face := f.regular
	if cell.Style.Attrs&uv.AttrBold != 0 {
		face = f.bold
	}
	for _, r := range cell.Content {
		if r == ' ' || r == '\u00a0' {
			continue
		}
		if parts := shape(r); parts != nil {
			for _, part := range parts {
				fill(img, part.Add(at.Min), ink)
			}
			continue
		}
		dst, mask, from, _, ok := face.Glyph(fixed.P(at.Min.X, at.Min.Y+baseline), r)
		if !ok {
			return fmt.Errorf("the font has no %q (U+%04X)", r, r)
		}
		for y := range dst.Dy() {
			for x := range dst.Dx() {
				_, _, _, a := mask.At(from.X+x, from.Y+y).RGBA()
				if level := (int(a)*shades + 0x8000) / 0xffff; level > 0 {
					p := dst.Min.Add(image.Pt(x, y))
					img.SetRGBA(p.X, p.Y, blend(ink, img.RGBAAt(p.X, p.Y), min(level, shades), shades))
				}
			}
		}
	}
	return nil
}

func fill(img *image.RGBA, r image.Rectangle, c color.RGBA) {
	draw.Draw(img, r, image.NewUniform(c), image.Point{}, draw.Src)
}

// slim returns img with a palette, or img itself if it has more than 256 colours.
func slim(img *image.RGBA) image.Image {
	index := map[color.RGBA]uint8{}
	var palette color.Palette
	out := image.NewPaletted(img.Bounds(), nil)
	for i := range out.Pix {
		c := color.RGBA{R: img.Pix[4*i], G: img.Pix[4*i+1], B: img.Pix[4*i+2], A: 0xff}
		n, ok := index[c]
		if !ok {
			if len(palette) == 256 {
				return img
			}
			n = uint8(len(palette))
			index[c], palette = n, append(palette, c)
		}
		out.Pix[i] = n
	}
	out.Palette = palette
	return out
}

func save(path string, img image.Image) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join((&png.Encoder{CompressionLevel: png.BestCompression}).Encode(out, img), out.Close())
}
